/**
 * The forms in which models write tool calls into their text when the server does not read them: one row each, with how a call begins
 * and how its name and arguments are read. `read` starts behind `begins`; null when that is no call.
 */
import { isObject, type JsonObject } from '../base/json.ts'
import { readJson } from './lenient-json.ts'

/**
 * `json`: the arguments as JSON; `fields`: each as text, whose type the tool's schema decides. `isOpen`: a last bracket is
 * missing.
 */
export type WrittenCall = { name: string; isOpen?: true } & ({ json: string } | { fields: Field[] })
type Field = { key: string; text: string; isText?: boolean }

type Read = { calls: WrittenCall[]; end: number } | null
type Dialect = {
  name: string
  begins: RegExp
  read: (text: string, at: number, opening: string) => Read
  /** Only as the whole text: the form has no mark of its own. */
  isWhole?: true
}

const NAME = /["']?([\w.:/-]+)["']?/.source
/** The namespace of a tag: `minimax:`, `｜DSML｜` of DeepSeek. */
const SPACE = /(?:[a-z]+:|[｜|]DSML[｜|])?/.source
/** Between the words of DeepSeek's tokens. */
const GAP = '[▁_ ]'
const BAR = '[｜|]'
const token = (...words: string[]): string => `<${BAR}${words.join(GAP)}${BAR}>`

const sticky = (source: string): RegExp => new RegExp(source, 'y')
const matchAt = (pattern: RegExp, text: string, at: number): RegExpExecArray | null => {
  pattern.lastIndex = at
  return pattern.exec(text)
}
const endOf = (pattern: RegExp, text: string, at: number): number =>
  at + (matchAt(pattern, text, at)?.[0].length ?? 0)

/** An object with name and arguments, under the names that models use. `isAlone`: without a mark, so they have to be an object. */
const toCall = (value: unknown, isAlone: boolean): WrittenCall | null => {
  if (!isObject(value)) return null
  const source = isObject(value.function) ? value.function : value
  const { name, tool_name, tool, function: fn, type: _type, id: _id, ...rest } = source
  const called = [name, tool_name, tool, fn].find(each => typeof each === 'string')
  if (typeof called !== 'string') return null
  const { arguments: args, parameters, args: short, input, ...beside } = rest
  const content = args ?? parameters ?? short ?? input
  const json = content === undefined ? beside : content
  const text = typeof json === 'string' ? json : JSON.stringify(json)
  return isAlone && (content === undefined || !/^\s*\{/.test(text))
    ? null
    : { name: called, json: text }
}

const BETWEEN = /[\s;,]*/y

/** Objects, or arrays of them, one after another. */
const jsonCalls =
  (isAlone = false) =>
  (text: string, at: number): Read => {
    const calls: WrittenCall[] = []
    let end = at
    for (let next = at; /[[{]/.test(text.charAt(next)); next = endOf(BETWEEN, text, end)) {
      const result = readJson(text, next)
      // A bracket behind the calls may begin something else.
      if (!result.ok) break
      const values = Array.isArray(result.value) ? result.value : [result.value]
      for (const each of values) {
        const call = toCall(each, isAlone)
        if (!call) return null
        calls.push(result.isClosed ? call : { ...call, isOpen: true })
      }
      end = result.end
    }
    return calls.length > 0 ? { calls, end } : null
  }

/** A name, what separates it from the arguments, and these as JSON. */
const nameAndJson =
  (head: RegExp, tail = /(?:)/y) =>
  (text: string, at: number): Read => {
    const match = matchAt(head, text, at)
    if (!match) return null
    const begin = at + match[0].length
    const result = readJson(text, begin)
    const name = match.slice(1).find(each => each !== undefined) ?? ''
    if (!result.ok || !isObject(result.value)) return null
    const json = JSON.stringify(result.value)
    const call: WrittenCall = { name, json, ...(!result.isClosed && { isOpen: true }) }
    return { calls: [call], end: endOf(tail, text, result.end) }
  }

/** Several calls of one form behind the mark at which the first began. */
const repeated =
  (read: Dialect['read']) =>
  (text: string, at: number, opening: string): Read => {
    const first = read(text, at, opening)
    if (!first) return null
    const { calls } = first
    let { end } = first
    for (;;) {
      const next = read(text, endOf(BETWEEN, text, end), opening)
      if (!next) return { calls, end }
      calls.push(...next.calls)
      end = next.end
    }
  }

const PARAMETER = sticky(`\\s*<${SPACE}parameter(?:=${NAME}|\\s+name=${NAME}([^>]*))\\s*>`)
const PARAMETER_END = new RegExp(
  `</${SPACE}parameter>(?=\\s*(?:<${SPACE}parameter[\\s=]|</${SPACE}(?:function|invoke|tool_call)>|$))`,
  'g',
)
const NEXT_PARAMETER = new RegExp(`(?=\\n<${SPACE}parameter=)`, 'g')
const LAST_PARAMETER = new RegExp(`(?=\\n?</${SPACE}(?:function|invoke)>)`, 'g')
const CALL_END = sticky(`\\s*(?:</${SPACE}(?:function|invoke)>|(?=</${SPACE}tool_call>))`)

/** `<parameter=key>value</parameter>` or `<parameter name="key">`, up to the end of the call. */
const parameters = (name: string, text: string, at: number): Read => {
  const fields: Field[] = []
  let end = at
  for (;;) {
    const match = matchAt(PARAMETER, text, end)
    if (!match) break
    const begin = end + match[0].length
    const closed = matchAt(PARAMETER_END, text, begin)
    const next = matchAt(NEXT_PARAMETER, text, begin)
    // The end tag may be left out; a value may contain one.
    const isOpen =
      next && next.index < (closed?.index ?? text.length) && !hasEnd(text, begin, next.index)
    const stop = isOpen ? next : (closed ?? matchAt(LAST_PARAMETER, text, begin))
    if (!stop) return null
    const value = text.slice(begin, stop.index)
    const isTagged = match[1] !== undefined
    const key = match[1] ?? match[2] ?? ''
    // A value that is itself about parameters was cut, or one of two values would be lost.
    if (fields.some(field => field.key === key)) return null
    fields.push({
      key,
      text: isTagged ? value.replace(/^\r?\n/, '').replace(/\r?\n$/, '') : value,
      ...(/string="true"/.test(match[3] ?? '') && { isText: true }),
    })
    end = stop.index + stop[0].length
  }
  const finish = matchAt(CALL_END, text, end)
  return finish && { calls: [{ name, fields }], end: end + finish[0].length }
}

const hasEnd = (text: string, from: number, to: number): boolean =>
  /<\/[^>]*parameter>/.test(text.slice(from, to))

const FUNCTION = sticky(`${NAME}\\s*>?\\s*`)
const FUNCTION_END = /\s*(?:<\/function>)?/y

/** `<function=name>` with parameters, or with an object. */
const functionTag = (text: string, at: number): Read => {
  const match = matchAt(FUNCTION, text, at)
  if (!match) return null
  const begin = at + match[0].length
  if (text.charAt(begin) !== '{') return parameters(match[1] ?? '', text, begin)
  return nameAndJson(FUNCTION, FUNCTION_END)(text, at)
}

const INVOKE = sticky(`${NAME}[^>]*>`)
const invoke = (text: string, at: number): Read => {
  const match = matchAt(INVOKE, text, at)
  return match && parameters(match[1] ?? '', text, at + match[0].length)
}

const PAIR =
  /\s*<arg_key>\s*([^<]+?)\s*<\/arg_key>\s*<arg_value>([\s\S]*?)<\/arg_value>(?=\s*(?:<arg_key>|<\/tool_call>|$))/y
const argumentPairs = (text: string, at: number): Read => {
  const match = matchAt(sticky(`${NAME}\\s*`), text, at)
  if (!match) return null
  const fields: Field[] = []
  let end = at + match[0].length
  for (;;) {
    const pair = matchAt(PAIR, text, end)
    if (!pair) break
    fields.push({ key: pair[1] ?? '', text: pair[2] ?? '' })
    end += pair[0].length
  }
  const close = matchAt(/\s*<\/tool_call>/y, text, end)
  return close && { calls: [{ name: match[1] ?? '', fields }], end: end + close[0].length }
}

const PYTHON_NAME = /([A-Za-z_]\w*)(?:\.call)?\(/y
const KEYWORD = /\s*([A-Za-z_]\w*)\s*=\s*/y

/** What stands between Gemma's marks of a string, which has no escapes. */
const GEMMA_STRING = /<\|"\|>([\s\S]*?)<\|"\|>|<escape>([\s\S]*?)<escape>/g
const GEMMA_END = /<tool_call\|>|<end_function_call>|$/g

/** `call:name{key:<|"|>value<|"|>,other:1}`. */
const gemma = (text: string, at: number): Read => {
  const end = matchAt(GEMMA_END, text, at)
  if (!end) return null
  const body = text
    .slice(at, end.index)
    .trimEnd()
    .replace(GEMMA_STRING, (_, value?: string, older = '') => JSON.stringify(value ?? older))
  const call = nameAndJson(sticky(`call:${NAME}\\s*(?=\\{)`))(body, 0)
  return call?.end === body.length ? { ...call, end: end.index + end[0].length } : null
}

/** `name(key="value", other=[1])`. */
const pythonCall = (text: string, at: number): Read => {
  const match = matchAt(PYTHON_NAME, text, at)
  if (!match) return null
  const args: JsonObject = {}
  let end = at + match[0].length
  for (;;) {
    const key = matchAt(KEYWORD, text, end)
    if (!key) break
    const result = readJson(text, end + key[0].length)
    if (!result.ok) return null
    args[key[1] ?? ''] = result.value
    end = endOf(/\s*,?/y, text, result.end)
  }
  const close = matchAt(/\s*\)/y, text, end)
  return (
    close && {
      calls: [{ name: match[1] ?? '', json: JSON.stringify(args) }],
      end: end + close[0].length,
    }
  )
}

const pythonList = (text: string, at: number): Read => {
  const list = repeated(pythonCall)(text, at, '')
  const close = list && matchAt(/\s*\]/y, text, list.end)
  return list && close && { calls: list.calls, end: list.end + close[0].length }
}

const FENCE = '(?:```(?:json)?\\s*)?'
const OBJECT = '(?=[[{])'
const json = (name: string, mark: string): Dialect => ({
  name,
  begins: sticky(`${mark}\\s*${FENCE}${OBJECT}`),
  read: jsonCalls(),
})

/** Before the tags of Step. */
const STEP = `(?:${token('tool', 'calls', 'begin')}\\s*)?(?:${token('tool', 'call', 'begin')}\\s*(?:function\\s*)?${token('tool', 'sep')}\\s*)?`

const DIALECTS: readonly Dialect[] = [
  json('Hermes, Qwen', '<tool_call>'),
  json('LM Studio', '\\[TOOL_REQUEST\\]'),
  json('Llama', '<\\|python_tag\\|>'),
  json('Mistral', '\\[TOOL_CALLS\\]'),
  json('Granite, Phi', '<\\|tool_calls?\\|>'),
  json('Nemotron', '<TOOLCALL>'),
  json('Command', '<\\|START_ACTION\\|>'),
  json('InternLM', '<\\|action_start\\|>\\s*<\\|plugin\\|>'),
  json('Liquid', '<\\|tool_call_start\\|>'),
  json('other tags', '<(?:function_?calls?|FUNCTION_CALL|tool_calls|tools?|tool_code)>'),
  {
    name: 'a name before the object',
    begins: /<(?:tool_call|function_call)>\s*(?=[\w.:-]+\s*\{)/y,
    read: nameAndJson(sticky(`${NAME}\\s*(?=\\{)`)),
  },
  {
    name: 'Mistral with names',
    begins: /\[TOOL_CALLS\]\s*(?=[\w.-]+\s*[[{])/y,
    read: repeated(
      nameAndJson(
        sticky(
          `(?:\\[TOOL_CALLS\\]\\s*)?${NAME}(?:\\[CALL_ID\\]\\w+)?\\s*(?:\\[ARGS\\])?\\s*(?=\\{)`,
        ),
      ),
    ),
  },
  {
    name: 'Qwen Coder, Llama',
    begins: sticky(`(?:<${SPACE}tool_call>\\s*)?<function(?:=|\\s+name=)(?=${NAME}\\s*>?\\s*[<{])`),
    read: functionTag,
  },
  {
    name: 'GLM',
    begins: /<tool_call>\s*(?=[\w.:-]+\s*(?:<arg_key>|<\/tool_call>))/y,
    read: argumentPairs,
  },
  {
    name: 'Claude, MiniMax, DeepSeek DSML, Step',
    begins: sticky(
      `${STEP}(?:<${SPACE}(?:function_calls|tool_calls?)>\\s*)?<${SPACE}invoke\\s+name=(?=${NAME}[^>\\n]*>)`,
    ),
    read: invoke,
  },
  {
    name: 'Kimi',
    begins: sticky(
      `(?:<\\|tool_calls_section_begin\\|>\\s*)?<\\|tool_call_begin\\|>\\s*(?=[\\w.:-]+\\s*<\\|tool_call_argument_begin\\|>)`,
    ),
    read: nameAndJson(sticky(`${NAME}\\s*<\\|tool_call_argument_begin\\|>\\s*(?=\\{)`)),
  },
  {
    name: 'DeepSeek',
    begins: sticky(
      `(?:${token('tool', 'calls', 'begin')}\\s*)?${token('tool', 'call', 'begin')}\\s*`,
    ),
    read: nameAndJson(
      sticky(
        `(?:function\\s*${token('tool', 'sep')}\\s*${NAME}|${NAME}\\s*${token('tool', 'sep')})\\s*${FENCE}(?=\\{)`,
      ),
      /\s*(?:```)?/y,
    ),
  },
  {
    name: 'gpt-oss',
    begins:
      /(?:<\|start\|>)?(?:assistant)?\s?(?:(?:<\|channel\|>\s*)?(?:commentary|analysis)\s+to=(?:functions\.)?|to=functions\.)(?=[\w.-]+\s*(?:[<{]|(?:json|code|commentary|analysis)\b))/y,
    read: nameAndJson(
      sticky(
        `${NAME}\\s*(?:<\\|channel\\|>\\s*(?:commentary|analysis))?\\s*(?:<\\|constrain\\|>)?\\s*(?:json|code)?\\s*(?:<\\|message\\|>)?\\s*(?=\\{)`,
      ),
    ),
  },
  { name: 'Llama in Python', begins: /<\|python_tag\|>\s*(?=[A-Za-z_])/y, read: pythonCall },
  {
    name: 'Liquid in Python',
    begins: /<\|tool_call_start\|>\s*\[(?=[A-Za-z_]\w*\()/y,
    read: pythonList,
  },
  {
    name: 'Gemma',
    begins: /(?:<\|tool_call>|<start_function_call>)\s*(?=call:[\w.-]+\s*\{)/y,
    read: gemma,
  },
  { name: 'Llama 4', begins: /\[(?=[A-Za-z_]\w*\()/y, read: pythonList, isWhole: true },
  { name: 'an object alone', begins: /(?=[[{])/y, read: jsonCalls(true), isWhole: true },
]

const END_TOKEN = `<${BAR}(?:im_end|eot_id|eom_id|end|call|return|end_of_text|endoftext|END_ACTION|action_end|/tool_calls?|end▁of▁sentence|tool${GAP}calls?(?:${GAP}section)?${GAP}end)${BAR}>`
/** What may stand between calls and behind the last one: white space, closing tags, tokens that end a message. */
const SEPARATOR = new RegExp(
  `(?:[\\s;]|\`\`\`|</${SPACE}(?:tool_calls?|function_?calls?|function|invoke|FUNCTION_CALL|TOOLCALL|tools?|tool_code)>|\\[(?:END_TOOL_REQUEST|/TOOL_CALLS?|/TOOL_REQUEST)\\]|${END_TOKEN}|</s>|<end_of_turn>)*`,
  'y',
)
const LAST_END = new RegExp(
  `^[\\s\\S]*(?:</${SPACE}(?:tool_calls?|function_?calls?|function|invoke|FUNCTION_CALL|TOOLCALL|tools?)>|\\[(?:END_TOOL_REQUEST|/TOOL_CALLS?)\\]|${END_TOKEN})`,
)
/** What stands behind the last closing tag; empty without one. */
export const behindCalls = (text: string): string => {
  const end = LAST_END.exec(text)?.[0].length
  return end === undefined ? '' : text.slice(end)
}
/** A result that the model made up. */
const INVENTED = /<(?:tool_response|function_results?|tool_result)>[\s\S]*/y

/** The calls from `at` to the end of the text; null when anything else stands between or behind them. */
export const readCalls = (text: string, at: number): WrittenCall[] | null => {
  const calls: WrittenCall[] = []
  let end = at
  while (end < text.length) {
    const group = readCallsAt(text, end)
    if (!group) return null
    calls.push(...group.calls)
    end = endOf(SEPARATOR, text, group.end)
    end = endOf(INVENTED, text, end)
  }
  return calls.length > 0 ? calls : null
}

/** The first call or calls that begin at `at`, whatever follows. */
export const readCallsAt = (text: string, at: number): Read => {
  for (const { begins, read, isWhole } of DIALECTS) {
    const match = isWhole && text.slice(0, at).trim() !== '' ? null : matchAt(begins, text, at)
    const calls = match && read(text, at + match[0].length, match[0])
    if (calls && calls.calls.length > 0) return calls
  }
  return null
}

/** Where a call may begin; `isWhole` forms are not among them. */
const MARKS = new RegExp(
  DIALECTS.filter(({ isWhole }) => !isWhole)
    .map(({ begins }) => begins.source)
    .join('|'),
  'g',
)
/** A text full of marks is about them. */
const MAX_MARKS = 100

export const findMarks = (text: string): number[] =>
  text
    .matchAll(MARKS)
    .take(MAX_MARKS)
    .map(({ index }) => index)
    .toArray()

/** A call begins with this text. */
export const hasMark = (text: string): boolean =>
  DIALECTS.some(({ begins, isWhole }) => !isWhole && matchAt(begins, text, 0))
