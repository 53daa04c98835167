/** Parses and edits the text of a .env file. */
import { invalid } from '../errors.ts'

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

const unquoted = (text: string, quote: string): string =>
  text.length >= 2 && text.startsWith(quote) && text.endsWith(quote) ? text.slice(1, -1) : text

/** Later lines win. Blank lines, comments, lines without `=` and invalid names are skipped. */
export const parseEnv = (text: string): Record<string, string> => {
  const values: Record<string, string> = {}
  for (const raw of text.split(/\r\n|\n|\r/)) {
    const line = raw.trim()
    const cut = line.indexOf('=')
    if (line.startsWith('#') || cut < 0) continue
    // Lines pasted from shell files start with `export`.
    const name = line
      .slice(0, cut)
      .replace(/^export\s+/, '')
      .trim()
    if (!NAME.test(name)) continue
    values[name] = unquoted(unquoted(line.slice(cut + 1).trim(), '"'), "'")
  }
  return values
}

/** Numbers of the lines that `parseEnv` skips although they are neither blank nor comments. */
export const skippedLines = (text: string): number[] =>
  text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\n|\r/)
    .flatMap((raw, at) => (/^\s*(?:#|$)/.test(raw) || NAME.test(nameOf(raw)) ? [] : [at + 1]))

const nameOf = (raw: string): string => {
  const line = raw.trim()
  const cut = line.indexOf('=')
  if (line.startsWith('#') || cut < 0) return ''
  return line
    .slice(0, cut)
    .replace(/^export\s+/, '')
    .trim()
}

/** Variables that control which code other programs run. A .env must not set them. */
const DANGEROUS =
  /^(?:PATH|HOME|SHELL|IFS|ENV|BASH_ENV|PROMPT_COMMAND|EDITOR|VISUAL|PAGER|BROWSER|LD_.*|DYLD_.*|PYTHON.*|NODE_.*|NPM_.*|PERL.*|RUBY.*|JAVA_TOOL_OPTIONS|GIT_.*|AGENT_HOME|AGENT_BASE_HOME|AGENT_YOLO_MODE|AGENT_WEBUI_.*)$/

const formatted = (name: string, value: string): string => {
  if (!NAME.test(name))
    throw invalid(`${name.slice(0, 100)} is not a valid variable name.`, {
      code: 'invalid_variable',
      values: { name: name.slice(0, 100) },
    })
  if (DANGEROUS.test(name))
    throw invalid(`${name} can’t be set in .env.`, {
      code: 'variable_not_allowed',
      values: { name },
    })
  if (/[\p{Cc}\u2028\u2029]/u.test(value) || !value.isWellFormed())
    throw invalid(`The value of ${name} contains invalid characters.`, {
      code: 'invalid_variable_value',
      values: { name },
    })
  if (/^[\w./:+=@%,~-]*$/.test(value)) return value
  const quoted = ["'", '"']
    .filter(mark => !value.includes(mark))
    .map(mark => mark + value + mark)
    .find(text => parseEnv(`${name}=${text}`)[name] === value)
  if (!quoted)
    throw invalid(`The value of ${name} contains quotes that can’t be saved.`, {
      code: 'invalid_variable_value',
      values: { name },
    })
  return quoted
}

/**
 * Sets one variable, or removes it when `value` is null. Comments, order and other lines are preserved. Of several lines
 * for the name only the first stays, because the last one would win.
 */
export const editEnv = (text: string, name: string, value: string | null): string => {
  const line = value === null ? null : `${name}=${formatted(name, value)}`
  const end = text.includes('\r\n') ? '\r\n' : '\n'
  const lines = text.split(/\r\n|\n|\r/)
  const first = lines.findIndex(raw => nameOf(raw) === name)
  const remaining = lines.flatMap((raw, at) => {
    if (nameOf(raw) !== name) return [raw]
    if (at !== first || line === null) return []
    return [/^\s*export\s/.test(raw) ? `export ${line}` : line]
  })
  if (line === null || first >= 0) return remaining.join(end)
  // Without a final line break the new line would join the last one.
  if (remaining.at(-1) === '') remaining.pop()
  return [...remaining, line, ''].join(end)
}
