import postgres from "postgres"; import { createQueue } from "../mod.ts";
const url="postgres://postgres@127.0.0.1:54999/postgres";
const admin=postgres(url,{max:1,onnotice:()=>{}});
await admin.unsafe("drop schema if exists zzh cascade"); await createQueue(admin,{schema:"zzh"}).migrate();
for (let i=0;i<25;i++){
  const level=i%2?"serializable":"repeatable read";
  const sqls=Array.from({length:8},()=>postgres(url,{max:1,connection:{default_transaction_isolation:level,application_name:"zz"+i} as any}));
  const qs=sqls.map(s=>createQueue(s,{schema:"zzh"}));
  await qs[0]!.enqueue(Array.from({length:100},()=>({role:"r1"})));
  await Promise.all(qs.map(async q=>{ for (let c=await q.dequeue({roles:["r1"]}); c.acquired; c=await q.dequeue({roles:["r1"]})) { await q.heartbeat(c); await q.complete(c);} }));
  await Promise.all(sqls.map(s=>s.end({timeout:5})));
  const left=await admin.unsafe(`select pid, state, left(query,30) q from pg_stat_activity where application_name='zz${i}'`);
  if (left.length) console.log(i, level, left);
}
await admin.unsafe("drop schema if exists zzh cascade"); await admin.end(); console.log("done");
