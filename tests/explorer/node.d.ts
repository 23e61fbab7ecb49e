// The little of Node that the harness uses; its whole types would let the explorer's modules use Node, too.
declare module "node:fs" {
  export function readFileSync(file: number, encoding: "utf8"): string;
  export function writeFileSync(file: number, text: string): void;
}
