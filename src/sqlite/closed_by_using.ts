/**
 * What `using` calls at the end of a block. Spelled by way of what the program that compiles this knows: without
 * `esnext.disposable` in its `lib` there is no `Symbol.dispose`, and this has no member.
 */
export type ClosedByUsing = {
  [Name in SymbolConstructor["dispose" & keyof SymbolConstructor]]: () => void;
};
