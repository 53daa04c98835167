/** Parses and edits the text of a .env file. */
import { invalid } from '../errors.ts'

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** One binding of the file. `name`: null for a comment, a blank line, and what cannot be read. */
type Binding = { text: string; name: string | null; value: string | null; isError: boolean }

const DOUBLE_ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

/** Reads step by step, as python-dotenv's parser does, whose regular expressions these are. */
const createReader = (text: string) => {
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match) at += match[0].length
    return match
  }

  const quoted = (pattern: RegExp, escapes: RegExp): string | null => {
    const match = take(pattern)
    return (
      match && match[1]!.replace(escapes, (_, letter: string) => DOUBLE_ESCAPES[letter] ?? letter)
    )
  }

  /** Null: it does not end. */
  const value = (): string | null => {
    if (text[at] === "'") return quoted(/'((?:\\'|[^'])*)'/y, /\\([\\'])/g)
    if (text[at] === '"') return quoted(/"((?:\\"|[^"])*)"/y, /\\([\\'"abfnrtv])/g)
    return take(/[^\r\n]*/y)![0]
      .replace(/\s+#.*/, '')
      .trimEnd()
  }

  const binding = (): Omit<Binding, 'text'> => {
    const failure = { name: null, value: null, isError: true }
    take(/\s*/y)
    take(/export[^\S\r\n]+/y)
    let name: string | null = null
    if (text[at] !== '#' && at < text.length) {
      const key = text[at] === "'" ? take(/'([^']+)'/y) : take(/([^=#\s]+)/y)
      if (!key) return failure
      name = key[1]!
    }
    take(/[^\S\r\n]*/y)
    let raw: string | null = null
    if (text[at] === '=') {
      take(/=[^\S\r\n]*/y)
      raw = value()
      if (raw === null) return failure
    }
    take(/[^\S\r\n]*#[^\r\n]*/y)
    return take(/[^\S\r\n]*(?:\r\n|\n|\r|$)/y) ? { name, value: raw, isError: false } : failure
  }

  return {
    next(): Binding | null {
      if (at >= text.length) return null
      const start = at
      const line = binding()
      if (line.isError) take(/[^\r\n]*(?:\r\n|\n|\r|$)/y)
      return { ...line, text: text.slice(start, at) }
    },
  }
}

function* bindings(text: string): Generator<Binding> {
  const reader = createReader(text)
  for (let binding = reader.next(); binding; binding = reader.next()) yield binding
}

/** `${NAME}` and `${NAME:-default}`, as python-dotenv expands them in every kind of value. */
const expanded = (value: string, variables: Readonly<Record<string, string | undefined>>): string =>
  value.replace(/\$\{([^}:]*)(?::-([^}]*))?\}/g, (_, name: string, otherwise = '') =>
    Object.hasOwn(variables, name) ? (variables[name] ?? otherwise) : otherwise,
  )

/**
 * The variables of a .env file by the rules of python-dotenv, with which the host agent reads it. Later lines win. Names that no
 * program of ours can use are skipped. `outer`: what values may refer to beside earlier lines.
 */
export const parseEnv = (
  text: string,
  outer: Readonly<Record<string, string | undefined>> = {},
): Record<string, string> => {
  const values: Record<string, string> = {}
  for (const { name, value } of bindings(text)) {
    if (name === null || value === null || !NAME.test(name) || name === '__proto__') continue
    values[name] = expanded(value, { ...outer, ...values })
  }
  return values
}

/** Numbers of the lines at which something begins that `parseEnv` skips and that is neither blank nor a comment. */
export const skippedLines = (text: string): number[] => {
  const lines: number[] = []
  let line = 1
  for (const { text: raw, name, value, isError } of bindings(text.replace(/^\uFEFF/, ''))) {
    const before = /^\s*/.exec(raw)![0]
    const isComment = name === null && !isError
    if (!isComment && (isError || value === null || !NAME.test(name ?? '')))
      lines.push(line + lineEnds(before))
    line += lineEnds(raw)
  }
  return lines
}

const lineEnds = (text: string): number => text.match(/\r\n|\n|\r/g)?.length ?? 0

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
  const quoted = [`'${value}'`, `"${value}"`, `'${value.replace(/[\\']/g, '\\$&')}'`].find(
    text => parseEnv(`${name}=${text}`)[name] === value,
  )
  if (!quoted)
    throw invalid(`The value of ${name} has characters that can’t be saved.`, {
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
  let isSet = false
  const edited = [...bindings(text)].map(binding => {
    if (binding.name !== name || binding.value === null) return binding.text
    const [, before = '', own = '', after = ''] =
      /^((?:[^\S\r\n]*(?:\r\n|\n|\r))*)([\s\S]*?)(\r\n|\n|\r)?$/.exec(binding.text) ?? []
    if (line === null || isSet) return before
    isSet = true
    return `${before}${/^\s*export\s/.test(own) ? 'export ' : ''}${line}${after}`
  })
  const all = edited.join('')
  if (line === null || isSet) return all
  // Without a final line break the new line would join the last one.
  return `${all}${all === '' || /[\r\n]$/.test(all) ? '' : end}${line}${end}`
}
