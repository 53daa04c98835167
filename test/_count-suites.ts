/** Counts the suites of a test file: each needs its `.run()`. */
export const countSuites = (text: string): number =>
  text.match(/^(?:export )?const \w+ = suite\b/gm)?.length ?? 0
