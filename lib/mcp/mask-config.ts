/** Masks secrets in the configuration of MCP servers. References such as `${NAME}` are shown. */
import { redact } from '../base/redact/redact.ts'

/** Replaces a masked value; sent back, it means "not changed". */
export const HIDDEN = '••••••'

const REFERENCE = /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/

const maskValue = (value: string): string =>
  value === '' || REFERENCE.test(value) ? value : HIDDEN

export const maskValues = (values: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, maskValue(value)]))

/** URLs contain keys as passwords or as query parameters. */
export const maskUrl = (url: string): string =>
  redact(url)
    .replace(/^(https?:\/\/)[^/?#@]+@/i, `$1${HIDDEN}@`)
    .replace(
      /([?&](?:[\w-]*(?:key|token|secret|password|auth|sig)[\w-]*)=)(?!\$\{)[^&#]+/gi,
      `$1${HIDDEN}`,
    )

const SECRET_FLAG = /^--?[\w-]*(?:key|token|secret|password)$/i
const SECRET_PAIR = /^(--?[\w-]*(?:key|token|secret|password)=)(?!\$\{).+/is

/** Masks `--api-key x` and `--api-key=x`. */
export const maskArgs = (args: readonly string[]): string[] =>
  args.map((arg, at) =>
    SECRET_FLAG.test(args[at - 1] ?? '') && !arg.startsWith('-')
      ? maskValue(arg)
      : redact(arg.replace(SECRET_PAIR, `$1${HIDDEN}`)),
  )

const MIN_SECRET_CHARS = 6

/** Masks configured values in the output of a server. Short values are kept: they may be ordinary words. */
export const hideValues = (text: string, values: Iterable<string>): string => {
  let hidden = redact(text)
  for (const value of values)
    if (value.length >= MIN_SECRET_CHARS) hidden = hidden.replaceAll(value, HIDDEN)
  return hidden
}
