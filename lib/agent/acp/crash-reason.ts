/** Finds the reason in what a program printed before it ended. Programs print more around it, above all Node.js. */

const MAX_CHARS = 300
/** Lines of one message. */
const MAX_LINES = 3

/** `TypeError: …`, `Error [ERR_X]: …`, `error: …`, `panic: …`, `java.io.IOException: …`, at the beginning of a line. */
const NAMES_ERROR =
  /^(?:Uncaught )?(?:[\w.:]*(?:Error|Exception|Rejection)(?: \[\w+\])?|error(?:\[\w+\])?|fatal(?: error)?|panic|thread '.*' panicked)\b.*(?::|panicked at)/i
const NPM_ERROR =
  /^npm (?:error|ERR!) (?!code |errno |syscall |path |A complete log|For a full report|Log files|$)/

/** What a program prints besides its reason. */
const AROUND = [
  /^Node\.js v\d/,
  /^\s*at /,
  /^\s*[\^~]+\s*$/,
  /^[\s{}[\](),]*$/,
  /^\s*(?:code|errno|syscall|path|requireStack|cause|spawnargs|\[\w+\]): /,
  /^Require stack:/,
  /^- \//,
  /^\(Use `node /,
  /^\(node:\d+\)/,
  /^node:internal/,
  /^(?:file:\/\/)?\/.*:\d+$/,
  /^npm (?:error|ERR!|warn|notice|verb)/i,
  /^note: run with `RUST_BACKTRACE/,
  /^stack backtrace:/,
  /^For more information, try/,
  /^goroutine \d+/,
  /^exit status \d+/,
  /^Traceback \(/,
  /^\s*File ".*", line \d+/,
  // Logs of what went well.
  /^\[[\w:-]+\] |^(?:\[?\d{4}-\d\d-\d\d\S*\]? )?\[?(?:debug|info|trace|warn(?:ing)?|notice)\b/i,
]

const isAround = (line: string): boolean => AROUND.some(pattern => pattern.test(line))

/** Its message may go on: `Cannot find module …` and then what to do about it. */
const messageAt = (lines: readonly string[], from: number): string => {
  const rest = lines.slice(from + 1, from + MAX_LINES)
  const end = rest.findIndex(line => line.trim() === '' || isAround(line))
  return [lines[from] ?? '', ...rest.slice(0, end < 0 ? undefined : end)]
    .map(line => line.trim().replace(/\s*\{$/, ''))
    .join(' ')
}

/** The reason in the last lines of stderr; '' if nothing there looks like one. */
export const crashReason = (printed: string): string => {
  const lines = printed.split('\n').map(line => line.trimEnd())
  const error = lines.findLastIndex(line => NAMES_ERROR.test(line) && !isAround(line))
  const npm = lines.findIndex(line => NPM_ERROR.test(line))
  const last = lines.findLastIndex(line => line.trim() !== '' && !isAround(line))
  const reason =
    error >= 0
      ? messageAt(lines, error)
      : npm >= 0
        ? (lines[npm] ?? '').replace(/^npm (?:error|ERR!) /, '')
        : (lines[last] ?? '').trim()
  return reason.slice(0, MAX_CHARS)
}
