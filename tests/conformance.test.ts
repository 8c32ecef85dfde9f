// One suite, the same for every backend: what the library promises, wherever it runs.
import { badInput } from "./conformance/bad_input.ts";
import { claimOrder } from "./conformance/claim_order.ts";
import { claiming } from "./conformance/claiming.ts";
import { creating } from "./conformance/creating.ts";
import { enqueue } from "./conformance/enqueue.ts";
import { errorText } from "./conformance/error_text.ts";
import { fencing } from "./conformance/fencing.ts";
import { finishing } from "./conformance/finishing.ts";
import { heartbeating } from "./conformance/heartbeating.ts";
import { idsAndTokens } from "./conformance/ids.ts";
import { keys } from "./conformance/keys.ts";
import { migrating } from "./conformance/migrating.ts";
import { names } from "./conformance/names.ts";
import { operating } from "./conformance/operating.ts";
import { otherProgram } from "./conformance/other_program.ts";
import { payloads } from "./conformance/payloads.ts";
import { reapTimes } from "./conformance/reap_times.ts";
import { reaping } from "./conformance/reaping.ts";
import { stored } from "./conformance/stored.ts";
import { transactions } from "./conformance/transactions.ts";
import { upkeep } from "./conformance/upkeep.ts";
import { workflowModel } from "./conformance/workflow_model.ts";
import { workflowStatus } from "./conformance/workflow_status.ts";
import { backends } from "./support/backends.ts";

const topics = [
  ...[creating, migrating, enqueue, keys, payloads, badInput, names, claiming, claimOrder, idsAndTokens],
  ...[heartbeating, fencing, finishing, errorText, workflowStatus, workflowModel],
  ...[reaping, reapTimes, otherProgram, operating, upkeep, transactions, stored],
];

for (const backend of backends) {
  for (const topic of topics) topic(backend);
}
