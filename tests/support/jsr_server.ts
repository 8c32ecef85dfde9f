// A registry that serves one package as jsr.io does, and a few files beside it.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** What is served: by path, `/main.ts` for example. */
export type Files = ReadonlyMap<string, string | Uint8Array>;

/** The part of `deno.json` that a registry reads. */
export interface JsrManifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Record<string, string>;
}

/** Serves the package's files with their checksums, and `others` as they are, on a port of its own. */
export async function serveJsr(manifest: JsrManifest, files: Files, others: Files): Promise<{ url: string; asked: Set<string>; close(): void }> {
  const { name, version, exports } = manifest;
  const checksums = Object.fromEntries([...files].map(([path, text]) => [path, { size: Buffer.byteLength(text), checksum: `sha256-${sha256(text)}` }]));
  const served = new Map<string, string | Uint8Array>([
    ...others,
    ...[...files].map(([path, text]) => [`/${name}/${version}${path}`, text] as const),
    [`/${name}/meta.json`, JSON.stringify({ name, latest: version, versions: { [version]: {} } })],
    [`/${name}/${version}_meta.json`, JSON.stringify({ exports, manifest: checksums })],
  ]);
  const asked = new Set<string>();
  const server = createServer((request, response) => {
    const path = decodeURI(String(request.url));
    asked.add(path);
    const body = served.get(path);
    response.writeHead(body === undefined ? 404 : 200, { "content-type": contentType(path) }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked, close: () => void server.close() };
}

function contentType(path: string): string {
  if (path.endsWith(".ts")) return "application/typescript";
  return path.endsWith(".json") ? "application/json" : "text/javascript";
}

function sha256(text: string | Uint8Array): string {
  return createHash("sha256").update(text).digest("hex");
}
