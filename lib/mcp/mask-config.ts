/** What of a server's configuration may be shown: values of its variables and headers are hidden, references to variables are not. */
import { redact } from '../redact/redact.ts'

/** Stands for a value that is kept; sent back, it means "as it was". */
export const HIDDEN = '••••••'

const REFERENCE = /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/

const maskValue = (value: string): string =>
  value === '' || REFERENCE.test(value) ? value : HIDDEN

export const maskValues = (values: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, maskValue(value)]))

/** Keys stand in addresses too: as a password, or as a parameter. */
export const maskUrl = (url: string): string =>
  redact(url)
    .replace(/^(https?:\/\/)[^/?#@]+@/i, `$1${HIDDEN}@`)
    .replace(
      /([?&](?:[\w-]*(?:key|token|secret|password|auth|sig)[\w-]*)=)(?!\$\{)[^&#]+/gi,
      `$1${HIDDEN}`,
    )

const SECRET_FLAG = /^--?[\w-]*(?:key|token|secret|password)$/i
const SECRET_PAIR = /^(--?[\w-]*(?:key|token|secret|password)=)(?!\$\{).+/is

/** `--api-key x` and `--api-key=x` alike. */
export const maskArgs = (args: readonly string[]): string[] =>
  args.map((arg, at) =>
    SECRET_FLAG.test(args[at - 1] ?? '') && !arg.startsWith('-')
      ? maskValue(arg)
      : redact(arg.replace(SECRET_PAIR, `$1${HIDDEN}`)),
  )

const MIN_SECRET_CHARS = 6

/** A text of the server's without the values it was given; short ones could be any word. */
export const hideValues = (text: string, values: Iterable<string>): string => {
  let hidden = redact(text)
  for (const value of values)
    if (value.length >= MIN_SECRET_CHARS) hidden = hidden.replaceAll(value, HIDDEN)
  return hidden
}
