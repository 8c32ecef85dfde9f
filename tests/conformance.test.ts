// One suite, the same for every backend: what the library promises, wherever it runs.
import { enqueue } from "./conformance/enqueue.ts";
import { keys } from "./conformance/keys.ts";
import { backends } from "./support/backends.ts";

const topics = [enqueue, keys];

for (const backend of backends) {
  for (const topic of topics) topic(backend);
}
