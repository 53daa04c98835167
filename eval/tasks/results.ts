/** What scripts of tasks read in the results of tools. */

/** `0` to `count - 1`. */
export const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at)

/** What a command printed. */
export const outputOf = (result: string): string =>
  String((JSON.parse(result) as { output?: unknown }).output)

/** The lines that `read_file` returned, without their numbers. */
export const linesOf = (result: string): string[] =>
  String((JSON.parse(result) as { content?: unknown }).content)
    .split('\n')
    .map(line => line.slice(line.indexOf('|') + 1))
