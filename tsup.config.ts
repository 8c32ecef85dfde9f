import { defineConfig } from "tsup";

// The queries lie in the bundle as text; the .sql files are shipped beside it for people and for other languages.
const config: ReturnType<typeof defineConfig> = defineConfig({
  entry: { mod: "mod.ts", sqlite: "src/sqlite.ts" },
  format: "esm",
  target: "es2022",
  platform: "neutral",
  // Without its prefix a bundler may take a package of the same name for a built-in module.
  removeNodeProtocol: false,
  external: [/^(node|bun):/],
  dts: {
    compilerOptions: { noEmit: false, emitDeclarationOnly: true },
    // For `Symbol.dispose`, which a consumer's `lib` may lack.
    banner: '/// <reference lib="esnext.disposable" />',
  },
  clean: true,
});

export default config;
