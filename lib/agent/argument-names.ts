/**
 * Names of arguments that other agents use, as models learned them. No argument is dropped silently: what a name does not
 * mean here is an error that names the right one, because the call would do something else than was asked.
 */
import { distance } from 'fastest-levenshtein'
import { z } from 'zod'
import { isObject, type JsonObject } from '../base/json.ts'

/** Our name, and the others. Case and separators do not count: `filePath` is `file_path`. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  path: [
    'file_path',
    'absolute_path',
    'relative_path',
    'target_file',
    'notebook_path',
    'file',
    'filename',
    'directory',
    'dir',
    'dir_path',
    'folder',
  ],
  workdir: [
    'cwd',
    'working_directory',
    'working_dir',
    'work_dir',
    'current_dir',
    'directory',
    'dir',
    'dir_path',
  ],
  command: ['cmd', 'shell_command', 'bash_command', 'script'],
  background: ['run_in_background', 'is_background'],
  content: ['contents', 'file_text', 'file_content', 'code_edit', 'text', 'step', 'task'],
  old_string: ['old_str', 'old_text', 'search', 'find', 'old', 'old_content'],
  new_string: ['new_str', 'new_text', 'replacement', 'replace', 'new', 'new_content'],
  replace_all: ['replace_all_occurrences', 'all'],
  patch: ['input', 'patch_text', 'diff', 'unified_diff'],
  pattern: ['query', 'regex', 'regexp', 'search', 'search_pattern', 'glob_pattern'],
  file_glob: ['include', 'include_pattern', 'glob', 'file_pattern'],
  context: ['context_lines', 'A', 'B', 'C', 'after_context', 'before_context'],
  offset: ['start_line', 'line_start', 'from_line', 'line_offset', 'line', 'start'],
  limit: ['head_limit', 'max_results', 'num_results', 'max_matches', 'line_limit', 'max_lines'],
  session_id: ['process_id', 'bash_id', 'shell_id', 'proc_id', 'id'],
  data: ['input', 'stdin', 'chars', 'text'],
  code: ['script', 'source', 'python_code'],
  todos: ['items', 'tasks', 'todo_list', 'plan'],
  goal: ['task', 'prompt', 'instruction', 'instructions', 'objective'],
  agent: ['subagent_type', 'agent_type', 'agent_name'],
  max_iterations: ['max_steps', 'max_turns'],
  question: ['query', 'prompt', 'message'],
  choices: ['options'],
  urls: ['url', 'links'],
  query: ['q', 'search_term', 'search_query'],
  name: ['skill', 'skill_name', 'tool_name'],
  merge: ['update'],
  status: ['state'],
}

/** What such an argument says to a reader does not change what the call does. */
const REMARKS = new Set([
  'description',
  'explanation',
  'reason',
  'reasoning',
  'rationale',
  'justification',
  'thought',
  'thoughts',
  'activeform',
  'priority',
  'securityrisk',
  'toolcallid',
  'note',
])

/** Names and values that differ only in case and punctuation are the same. */
export const simplified = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '')

type ArgumentIn = { args: JsonObject; value: unknown }
/** Arguments that no single other one stands for; null: this value cannot be said here. */
type Conversion = { into: string; convert: (arg: ArgumentIn) => unknown }

const number = (value: unknown): number =>
  value === '' || value === null ? Number.NaN : Number(value)
const isNo = (value: unknown): boolean => value === false || value === 'false'
const ignoreCase = ({ args, value }: ArgumentIn, ignores: boolean): unknown => {
  const { pattern, target } = args
  if (!ignores) return pattern
  if (typeof pattern !== 'string' || target === 'files' || value === undefined) return undefined
  return pattern.startsWith('(?i)') ? pattern : `(?i)${pattern}`
}

/** The number of lines up to this one; -1 is the last one. */
const upTo = ({ args, value }: ArgumentIn): number =>
  number(value) < 0 ? Number.MAX_SAFE_INTEGER : number(value) - number(args.offset ?? 1) + 1

const CONVERSIONS: Readonly<Record<string, Conversion>> = {
  timeoutms: { into: 'timeout', convert: ({ value }) => number(value) / 1_000 },
  timeoutmilliseconds: { into: 'timeout', convert: ({ value }) => number(value) / 1_000 },
  yieldtimems: { into: 'timeout', convert: ({ value }) => number(value) / 1_000 },
  timeoutseconds: { into: 'timeout', convert: ({ value }) => value },
  timeoutsec: { into: 'timeout', convert: ({ value }) => value },
  timeouts: { into: 'timeout', convert: ({ value }) => value },
  casesensitive: { into: 'pattern', convert: arg => ignoreCase(arg, isNo(arg.value)) },
  caseinsensitive: { into: 'pattern', convert: arg => ignoreCase(arg, !isNo(arg.value)) },
  ignorecase: { into: 'pattern', convert: arg => ignoreCase(arg, !isNo(arg.value)) },
  multiline: {
    into: 'pattern',
    convert: ({ args, value }) => (isNo(value) ? args.pattern : undefined),
  },
  // Line numbers are always there.
  n: { into: 'pattern', convert: ({ args }) => args.pattern },
  i: { into: 'pattern', convert: arg => ignoreCase(arg, !isNo(arg.value)) },
  endline: { into: 'limit', convert: upTo },
  lineend: { into: 'limit', convert: upTo },
  toline: { into: 'limit', convert: upTo },
  end: { into: 'limit', convert: upTo },
  // What happens anyway.
  expectedreplacements: {
    into: 'replace_all',
    convert: ({ args, value }) => (number(value) === 1 ? (args.replace_all ?? false) : undefined),
  },
  overwrite: {
    into: 'content',
    convert: ({ args, value }) => (isNo(value) ? undefined : args.content),
  },
}

const CANONICAL = new Map<string, string[]>()
for (const [name, others] of Object.entries(ALIASES))
  for (const other of others)
    CANONICAL.set(simplified(other), [...(CANONICAL.get(simplified(other)) ?? []), name])

/** Whether an argument of this name is the one that a tool has as `name`. */
export const means = (key: string, name: string): boolean =>
  simplified(key) === simplified(name) || (CANONICAL.get(simplified(key))?.includes(name) ?? false)

/** Around the arguments themselves. */
const WRAPPERS = new Set(['arguments', 'parameters', 'params', 'args', 'input'])

export type Renamed = { ok: true; args: JsonObject } | { ok: false; error: string }

/** The arguments under the names of the schema, nested ones too. */
export const renameArguments = (schema: z.ZodType, input: JsonObject): Renamed => {
  const errors: string[] = []
  const args = renamed(schema, unwrapped(schema, input), '', errors)
  return errors.length === 0
    ? { ok: true, args: args as JsonObject }
    : { ok: false, error: errors.join('; ') }
}

/** The schema without what makes it optional or converts its value. */
const core = (schema: unknown): unknown => {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodReadonly ||
    schema instanceof z.ZodCatch
  )
    return core(schema.unwrap())
  return schema instanceof z.ZodPipe ? core(schema.in) : schema
}

/** Null where any name is allowed. */
const namesOf = (schema: unknown): string[] | null =>
  schema instanceof z.ZodObject && schema.def.catchall === undefined
    ? Object.keys(schema.shape)
    : null

const unwrapped = (schema: z.ZodType, input: JsonObject): JsonObject => {
  const [key = '', ...more] = Object.keys(input)
  const inner = input[key]
  // Where any name is allowed, this may be one of them.
  const isKnown = namesOf(core(schema))?.includes(key) ?? true
  const isWrapper = WRAPPERS.has(key) && !isKnown
  return more.length === 0 && isWrapper && isObject(inner) ? inner : input
}

const renamed = (schema: unknown, value: unknown, at: string, errors: string[]): unknown => {
  const inner = core(schema)
  if (inner instanceof z.ZodArray && Array.isArray(value))
    return value.map((item, index) => renamed(inner.element, item, `${at}${index}.`, errors))
  const names = namesOf(inner)
  if (names === null || !(inner instanceof z.ZodObject) || !isObject(value)) return value
  const args = underNames(names, value, at, errors)
  return Object.fromEntries(
    Object.entries(args).map(([name, each]) => [
      name,
      renamed(inner.shape[name], each, `${at}${name}.`, errors),
    ]),
  )
}

const underNames = (
  names: readonly string[],
  value: JsonObject,
  at: string,
  errors: string[],
): JsonObject => {
  const args: JsonObject = {}
  const others: [string, unknown][] = []
  for (const [key, each] of Object.entries(value)) {
    if (names.includes(key)) args[key] = each
    else if (each !== null && each !== undefined) others.push([key, each])
  }
  const rest = others.filter(([key, each]) => {
    const name = nameFor(key, names, args, each)
    if (name !== undefined) args[name] ??= each
    return name === undefined
  })
  for (const [key, each] of rest) {
    const to = CONVERSIONS[simplified(key)]
    const converted = to && names.includes(to.into) ? to.convert({ args, value: each }) : undefined
    if (to && converted !== undefined) args[to.into] = converted
    else if (!REMARKS.has(simplified(key))) errors.push(`${at}${key}: ${adviceFor(key, names)}`)
  }
  return args
}

/** The argument that is meant, unless it has another value already. */
const nameFor = (
  key: string,
  names: readonly string[],
  args: JsonObject,
  value: unknown,
): string | undefined => {
  const plain = simplified(key)
  const meant = [
    ...names.filter(name => simplified(name) === plain),
    ...(CANONICAL.get(plain) ?? []).filter(name => names.includes(name)),
  ]
  return meant.find(
    name => args[name] === undefined || JSON.stringify(args[name]) === JSON.stringify(value),
  )
}

const adviceFor = (key: string, names: readonly string[]): string => {
  if (names.length === 0) return 'there is no such argument; this tool takes none'
  const plain = simplified(key)
  const synonym = (CANONICAL.get(plain) ?? []).find(name => names.includes(name))
  if (synonym)
    return `it means the same as ${synonym}, which has another value; give ${synonym} only`
  const [nearest = ''] = names.toSorted(
    (a, b) => distance(simplified(a), plain) - distance(simplified(b), plain),
  )
  const isNear = distance(simplified(nearest), plain) <= Math.max(1, plain.length / 3)
  return `there is no such argument; ${isNear ? `use ${nearest}` : `there are ${names.join(', ')}`}`
}
