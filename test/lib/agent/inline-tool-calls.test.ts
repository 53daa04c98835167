/** Reasoning and tool calls in the text: extracted when meant, kept when they are content. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { toolOf } from './_run.ts'
import { z } from 'zod'
import { holdMarkup } from '../../../lib/agent/held-markup.ts'
import { parseInlineMarkup } from '../../../lib/agent/inline-tool-calls.ts'
import type { AgentEvent } from '../../../lib/agent/types.ts'

const test = suite('inline tool calls')

const tool = (name: string, input: z.ZodType) => toolOf(name, undefined, { input })
const TOOLS = [
  tool('echo', z.object({ say: z.string().optional() })),
  tool(
    'write_file',
    z.object({
      path: z.string(),
      content: z.string().optional(),
      lines: z.int().optional(),
      share: z.number().optional(),
      force: z.boolean().optional(),
      tags: z.array(z.string()).optional(),
      options: z.looseObject({}).optional(),
    }),
  ),
  tool('mcp_docs_find', z.object({ query: z.string() })),
]
const reply = (text: string, reasoning = '') => ({
  text,
  reasoning,
  refusal: '',
  calls: [],
  providerState: [],
})
const parse = (text: string, reasoning = '') => parseInlineMarkup(reply(text, reasoning), TOOLS)
const callsIn = (text: string, reasoning = '') =>
  parse(text, reasoning).reply.calls.map(({ name, arguments: args }) => [name, JSON.parse(args)])

const THOUGHTS: [string, string, string][] = [
  ['</think>All done.', 'All done.', ''],
  ['</think>\n\nAll done.', 'All done.', ''],
  [
    'Let me see.\nOK so 2+2.\n</think>\n\nThe answer is 4.',
    'The answer is 4.',
    'Let me see.\nOK so 2+2.',
  ],
  ['Only thoughts.\n</think>', 'Only thoughts.', ''],
  ['The tag `</think>` ends a thought.', 'The tag `</think>` ends a thought.', ''],
  ['Use </think> there.', 'Use </think> there.', ''],
  ['Like this:\n```\n<think>\n</think>\n```', 'Like this:\n```\n<think>\n</think>\n```', ''],
  [
    '<|channel|>analysis<|message|>2+2.<|end|><|start|>assistant<|channel|>final<|message|>It is 4.<|return|>',
    'It is 4.',
    '2+2.',
  ],
  ['plain', 'plain', ''],
]
for (const [text, said, thought] of THOUGHTS)
  test(`reasoning in the text: ${JSON.stringify(text)}`, () => {
    const { reply: meant } = parse(text)
    assert.equal([meant.text, meant.reasoning], [said, thought])
  })

const NAMES = TOOLS.map(({ name }) => name)
const HI = { say: 'hi' }
const D = (word: string) => `<｜${word}｜>`
/** One call of `echo` that says hi, in each form that models are known to write. */
const FORMS: [string, string][] = [
  ['Hermes', '<tool_call>\n{"name": "echo", "arguments": {"say": "hi"}}\n</tool_call>'],
  ['Hermes without end', '<tool_call>{"name":"echo","arguments":{"say":"hi"}}'],
  ['Hermes, parameters', '<tool_call>{"name":"echo","parameters":{"say":"hi"}}</tool_call>'],
  [
    'Hermes, arguments as text',
    '<tool_call>{"name":"echo","arguments":"{\\"say\\":\\"hi\\"}"}</tool_call>',
  ],
  ['Hermes, arguments beside', '<tool_call>{"name":"echo","say":"hi"}</tool_call>'],
  [
    'Hermes, function object',
    '<tool_call>{"type":"function","function":{"name":"echo","arguments":{"say":"hi"}}}</tool_call>',
  ],
  ['Hermes, Python', "<tool_call>\n{'name': 'echo', 'arguments': {'say': 'hi'}}\n</tool_call>"],
  [
    'Hermes, one bracket missing',
    '<tool_call>\n{"name": "echo", "arguments": {"say": "hi"}\n</tool_call>',
  ],
  [
    'Hermes with an invented result',
    '<tool_call>{"name":"echo","arguments":{"say":"hi"}}</tool_call>\n<tool_response>hi</tool_response>\nIt said hi.',
  ],
  [
    'Hermes with an end token',
    '<tool_call>{"name":"echo","arguments":{"say":"hi"}}</tool_call><|im_end|>',
  ],
  [
    'Qwen Coder',
    '<tool_call>\n<function=echo>\n<parameter=say>\nhi\n</parameter>\n</function>\n</tool_call>',
  ],
  [
    'Qwen Coder without tool_call',
    '<function=echo>\n<parameter=say>\nhi\n</parameter>\n</function>',
  ],
  [
    'Qwen Coder without parameter end',
    '<tool_call>\n<function=echo>\n<parameter=say>\nhi\n</function>\n</tool_call>',
  ],
  [
    'Qwen Coder, names as attributes',
    '<function name="echo"><parameter name="say">hi</parameter></function>',
  ],
  ['a name before the object', '<tool_call>\necho\n{"say":"hi"}\n</tool_call>'],
  ['a name before the object, in another tag', '<function_call>echo {"say":"hi"}</function_call>'],
  [
    'Seed',
    '<seed:tool_call>\n<function=echo>\n<parameter=say>hi</parameter>\n</function>\n</seed:tool_call>',
  ],
  [
    'Step',
    `${D('tool_calls_begin')}${D('tool_call_begin')}function${D('tool_sep')}<steptml:invoke name="echo"><steptml:parameter name="say">hi</steptml:parameter></steptml:invoke>${D('tool_call_end')}${D('tool_calls_end')}`,
  ],
  ['InternLM', '<|action_start|><|plugin|>{"name":"echo","parameters":{"say":"hi"}}<|action_end|>'],
  ['GLM', '<tool_call>echo\n<arg_key>say</arg_key>\n<arg_value>hi</arg_value>\n</tool_call>'],
  [
    'MiniMax',
    '<minimax:tool_call>\n<invoke name="echo">\n<parameter name="say">hi</parameter>\n</invoke>\n</minimax:tool_call>',
  ],
  [
    'Claude',
    '<function_calls>\n<invoke name="echo">\n<parameter name="say">hi</parameter>\n</invoke>\n</function_calls>',
  ],
  [
    'DeepSeek DSML',
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="echo">\n<｜DSML｜parameter name="say" string="true">hi</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
  ],
  [
    'DeepSeek V3',
    `${D('tool▁calls▁begin')}${D('tool▁call▁begin')}function${D('tool▁sep')}echo\n\`\`\`json\n{"say":"hi"}\n\`\`\`${D('tool▁call▁end')}${D('tool▁calls▁end')}`,
  ],
  [
    'DeepSeek V3.1',
    `${D('tool▁calls▁begin')}${D('tool▁call▁begin')}echo${D('tool▁sep')}{"say":"hi"}${D('tool▁call▁end')}${D('tool▁calls▁end')}${D('end▁of▁sentence')}`,
  ],
  [
    'Kimi',
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.echo:0<|tool_call_argument_begin|>{"say":"hi"}<|tool_call_end|><|tool_calls_section_end|>',
  ],
  ['Mistral list', '[TOOL_CALLS][{"name":"echo","arguments":{"say":"hi"}}]'],
  ['Mistral name', '[TOOL_CALLS]echo[ARGS]{"say":"hi"}'],
  ['Mistral name and id', '[TOOL_CALLS]echo[CALL_ID]a1b2c3d4e[ARGS]{"say":"hi"}'],
  ['Llama function', '<function=echo>{"say":"hi"}</function>'],
  ['Llama python_tag', '<|python_tag|>{"name":"echo","parameters":{"say":"hi"}}'],
  ['Llama python_tag as code', '<|python_tag|>echo.call(say="hi")'],
  ['Llama 4', '[echo(say="hi")]'],
  ['an object', '{"name": "echo", "parameters": {"say": "hi"}}'],
  ['a list', '[{"name":"echo","arguments":{"say":"hi"}}]'],
  ['LM Studio', '[TOOL_REQUEST]{"name":"echo","arguments":{"say":"hi"}}[END_TOOL_REQUEST]'],
  [
    'gpt-oss',
    '<|channel|>commentary to=functions.echo <|constrain|>json<|message|>{"say":"hi"}<|call|>',
  ],
  [
    'gpt-oss with start',
    '<|start|>assistant<|channel|>commentary to=functions.echo<|channel|>commentary json<|message|>{"say":"hi"}',
  ],
  ['gpt-oss without tokens', 'commentary to=functions.echo json{"say":"hi"}'],
  [
    'gpt-oss, recipient in the role',
    '<|start|>assistant to=functions.echo<|channel|>commentary json<|message|>{"say":"hi"}<|call|>',
  ],
  ['Granite', '<|tool_call|>[{"name":"echo","arguments":{"say":"hi"}}]'],
  ['Nemotron', '<TOOLCALL>[{"name":"echo","arguments":{"say":"hi"}}]</TOOLCALL>'],
  [
    'Command',
    '<|START_ACTION|>[{"tool_call_id":"0","tool_name":"echo","parameters":{"say":"hi"}}]<|END_ACTION|>',
  ],
  ['Gemma', '<|tool_call>call:echo{say:<|"|>hi<|"|>}<tool_call|>'],
  ['FunctionGemma', '<start_function_call>call:echo{say:<escape>hi<escape>}<end_function_call>'],
  ['Liquid', '<|tool_call_start|>[echo(say="hi")]<|tool_call_end|>'],
  [
    'Liquid in JSON',
    '<|tool_call_start|>[{"name":"echo","arguments":{"say":"hi"}}]<|tool_call_end|>',
  ],
  ['function_call', '<function_call>{"name":"echo","arguments":{"say":"hi"}}</function_call>'],
]
/** Forms that are a call only when there is nothing else. */
const ALONE = new Set(['Llama 4', 'an object', 'a list'])
for (const [form, text] of FORMS) {
  test(`${form}: is a call`, () => {
    assert.equal(callsIn(text), [['echo', HI]])
    assert.is(parse(text).reply.text, '')
  })
  if (!ALONE.has(form)) {
    test(`${form}: behind text, with and without a line break, and in the reasoning`, () => {
      for (const before of [
        'I will look.\n\n',
        'I will look.',
        'Use `git` and\n```sh\nls\n```\nnow:\n',
      ]) {
        assert.equal(callsIn(before + text), [['echo', HI]], before)
        assert.is(parse(before + text).reply.text, before.trimEnd())
      }
      assert.equal(callsIn('', `I think so.\n${text}`), [['echo', HI]])
      assert.is(parse('', `I think so.\n${text}`).reply.reasoning, 'I think so.')
      assert.equal(callsIn('An answer.', text), [])
    })
    test(`${form}: a mention is content`, () => {
      for (const mention of [
        `Like this:\n\`\`\`\n${text}\n\`\`\``,
        `Write \`${text.replaceAll('```', '')}\` there.`,
        `You would write:\n${text}`,
        `The format is: ${text}`,
        `> ${text}`,
        `| Form | Text |\n|---|---|\n| ours | ${text}`,
        text.replaceAll('echo', 'no_such_tool'),
        `For example: ${text}`,
        `This would be a call: ${text}`,
        `Its markup looks like this:\n${text}`,
        `Zum Beispiel: ${text}`,
        `例えば：\n${text}`,
      ]) {
        const { reply: meant, isUnreadable } = parse(mention)
        assert.equal([meant.text, meant.calls, isUnreadable], [mention, [], false])
      }
      const goesOn = `${text}\nand then the server runs it.`
      if (!/invented/.test(form)) assert.equal(parse(goesOn).reply, reply(goesOn))
    })
  }
  test(`${form}: the markup is never shown while it streams`, () => {
    for (const size of [1, 7, 1_000]) {
      const shown: string[] = []
      const held = holdMarkup(event => {
        if (event.type === 'token') shown.push(event.text)
      }, NAMES)
      const before = ALONE.has(form) ? '' : 'I will look at a < b.\n'
      const whole = before + text
      for (let at = 0; at < whole.length; at += size)
        held.emit({ type: 'token', messageId: 'm', text: whole.slice(at, at + size) })
      const content = parse(whole).reply.text
      held.emit({ type: 'message', message: { id: 'm', role: 'assistant', content } })
      assert.is(shown.join('').trimEnd(), before.trimEnd(), String(size))
    }
  })
}

/** Several calls, and what comes of them. */
const SEVERAL: [string, string, [string, unknown][]][] = [
  [
    'one after another',
    '<tool_call>{"name":"echo","arguments":{"say":"a"}}</tool_call>\n<tool_call>{"name":"echo","arguments":{"say":"b"}}</tool_call>',
    [
      ['echo', { say: 'a' }],
      ['echo', { say: 'b' }],
    ],
  ],
  [
    'in one frame',
    '<function_calls><invoke name="echo"><parameter name="say">a</parameter></invoke>\n<invoke name="mcp_docs_find"><parameter name="query">b</parameter></invoke></function_calls>',
    [
      ['echo', { say: 'a' }],
      ['mcp_docs_find', { query: 'b' }],
    ],
  ],
  [
    'of Kimi',
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.echo:0<|tool_call_argument_begin|>{"say":"a"}<|tool_call_end|><|tool_call_begin|>functions.echo:1<|tool_call_argument_begin|>{"say":"b"}<|tool_call_end|><|tool_calls_section_end|>',
    [
      ['echo', { say: 'a' }],
      ['echo', { say: 'b' }],
    ],
  ],
  [
    'of Mistral',
    '[TOOL_CALLS]echo[ARGS]{"say":"a"}[TOOL_CALLS]echo[ARGS]{"say":"b"}',
    [
      ['echo', { say: 'a' }],
      ['echo', { say: 'b' }],
    ],
  ],
  [
    'of Mistral under one mark',
    '[TOOL_CALLS]echo[ARGS]{"say":"a"}echo[ARGS]{"say":"b"}',
    [
      ['echo', { say: 'a' }],
      ['echo', { say: 'b' }],
    ],
  ],
  [
    'of Llama, separated',
    '<|python_tag|>{"name":"echo","parameters":{"say":"a"}}; {"name":"echo","parameters":{"say":"b"}}',
    [
      ['echo', { say: 'a' }],
      ['echo', { say: 'b' }],
    ],
  ],
  [
    'of Llama 4',
    '[echo(say="a"), mcp_docs_find(query=\'b\')]',
    [
      ['echo', { say: 'a' }],
      ['mcp_docs_find', { query: 'b' }],
    ],
  ],
  [
    'of DeepSeek',
    `${D('tool▁calls▁begin')}${D('tool▁call▁begin')}echo${D('tool▁sep')}{"say":"a"}${D('tool▁call▁end')}${D('tool▁call▁begin')}echo${D('tool▁sep')}{"say":"b"}${D('tool▁call▁end')}${D('tool▁calls▁end')}`,
    [
      ['echo', { say: 'a' }],
      ['echo', { say: 'b' }],
    ],
  ],
  ['without arguments', '<tool_call>echo</tool_call>', [['echo', {}]]],
  ['without arguments, in JSON', '<tool_call>{"name":"echo"}', [['echo', {}]]],
  ['without arguments, as a function', '<function=echo>\n</function>', [['echo', {}]]],
  [
    'under another spelling',
    '<tool_call>{"name":"functions.Write-File","arguments":{"path":"a"}}</tool_call>',
    [['write_file', { path: 'a' }]],
  ],
  [
    'of which one does not exist',
    '<tool_call>{"name":"echo","arguments":{}}</tool_call><tool_call>{"name":"nope","arguments":{}}</tool_call>',
    [
      ['echo', {}],
      ['nope', {}],
    ],
  ],
  [
    'behind words about a format',
    'I look what the format is:\n<tool_call>{"name":"echo","arguments":{}}</tool_call>',
    [['echo', {}]],
  ],
  [
    'behind an example',
    'An example is `<tool_call>{"name":"echo","arguments":{}}</tool_call>`. Now I do it.\n<tool_call>{"name":"echo","arguments":{"say":"a"}}</tool_call>',
    [['echo', { say: 'a' }]],
  ],
]
for (const [what, text, expected] of SEVERAL)
  test(`calls ${what}`, () => assert.equal(callsIn(text), expected))

const fields = (pairs: [string, string][]) => ({
  qwen: `<function=write_file>\n${pairs.map(([key, value]) => `<parameter=${key}>\n${value}\n</parameter>\n`).join('')}</function>`,
  glm: `<tool_call>write_file\n${pairs.map(([key, value]) => `<arg_key>${key}</arg_key>\n<arg_value>${value}</arg_value>\n`).join('')}</tool_call>`,
  claude: `<invoke name="write_file">\n${pairs.map(([key, value]) => `<parameter name="${key}">${value}</parameter>\n`).join('')}</invoke>`,
})
/** A value as text, and as its type in the schema. */
const TYPED: [string, string, unknown][] = [
  ['path', '123', '123'],
  ['path', 'true', 'true'],
  ['content', '{"a": 1}', '{"a": 1}'],
  ['content', '  indented\n\n  text', '  indented\n\n  text'],
  ['content', 'a < b && c > "d" \\d \\n', 'a < b && c > "d" \\d \\n'],
  [
    'content',
    '<p>&lt;b&gt;</p>\n<parameter>x</parameter>\nend',
    '<p>&lt;b&gt;</p>\n<parameter>x</parameter>\nend',
  ],
  ['content', '', ''],
  ['lines', '42', 42],
  ['lines', 'many', 'many'],
  ['share', '-0.5', -0.5],
  ['force', 'True', true],
  ['force', 'false', false],
  ['tags', '["a", "b"]', ['a', 'b']],
  ['tags', "['a']", ['a']],
  ['tags', 'a', 'a'],
  ['options', '{"deep": {"x": [1]}}', { deep: { x: [1] } }],
  ['unknown', '7', '7'],
  ['contents', '{"a": 1}', '{"a": 1}'],
]
for (const [key, text, value] of TYPED)
  for (const [form, written] of Object.entries(
    fields([
      [key, text],
      ['path', 'p'],
    ]),
  ))
    test(`${form}: ${key} is ${JSON.stringify(value)}`, () => {
      const [[, args] = []] = callsIn(written) as [string, Record<string, unknown>][]
      if (key !== 'path') assert.equal(args?.[key], value)
      else assert.equal(callsIn(fields([[key, text]])[form as 'qwen'])[0]?.[1], { path: value })
    })

/** Calls that cannot be read: the model is told. */
const UNREADABLE = [
  '<tool_call>\n{"name": "echo", "argum',
  '<tool_call>{"name": "echo", "arguments": {"say": "he said "hi""}}</tool_call>',
  'I look.\n<function=write_file>\n<parameter=path>\na',
  '<function_calls>\n<invoke name="echo">\n<parameter name="say">hi',
  '[TOOL_CALLS]echo[ARGS]{"say":',
  '<|tool_call_begin|>functions.echo:0<|tool_call_argument_begin|>{"say":"hi',
  '<|channel|>commentary to=functions.echo <|constrain|>json<|message|>{"say" "hi"}<|call|>',
  '[TOOL_REQUEST]{"name" "echo"}[END_TOOL_REQUEST]',
  '<tool_call>echo\n<arg_key>say</arg_key>\n<arg_value>hi',
  '<|tool_call>call:echo{say:<|"|>hi<tool_call|>',
  // A value with a parameter of the same name: a part of the file would be written, to another path.
  '<function=write_file>\n<parameter=path>\na\n</parameter>\n<parameter=content>\nQwen writes:\n<parameter=path>\nb\n</parameter>\nand so on.\n</parameter>\n</function>',
  // Words between two calls: the first would be lost, or both are examples.
  'I look.\n<tool_call>{"name":"echo","arguments":{}}</tool_call>\nThen:\n<tool_call>{"name":"echo"}</tool_call>',
  // Forms of no table.
  '<tool_call name="echo">{"say":"hi"}</tool_call>',
  'I look.\n<tool_call><name>echo</name><arguments>{"say":"hi"}</arguments></tool_call>\n',
  '<tool_use>\n<name>echo</name>\n<say>hi</say>\n</tool_use>',
  '<invoke tool="echo"><say>hi</say></invoke>',
  '- Hermes: <tool_call>{"name":"echo"}</tool_call>\n- Mistral: [TOOL_CALLS]echo{"say":"hi"}',
]
for (const text of UNREADABLE)
  test(`unreadable: ${JSON.stringify(text)}`, () => {
    const { reply: meant, isUnreadable } = parse(text)
    assert.equal([meant.calls, meant.text, isUnreadable], [[], text, true])
  })

/** Texts about markup, and JSON that is an answer. */
const CONTENT = [
  'Use <tool_call> to call echo.',
  'The tag <function=echo> is one of Llama.',
  'Wrap it in <tool_call>…</tool_call>; the server then runs echo.',
  'You would write:\n<tool_call>{"name" "echo"}</tool_call>\nand then wait.',
  '```\n<tool_call>{"name": "echo", "argum',
  'The template emits `[TOOL_CALLS]` before echo.',
  '{"name": "Ada", "parameters": {"age": 36}}',
  '{"name": "echo", "version": "1.0.0"}',
  '{"name": "echo", "input": "what comes back"}',
  '{"name": "echo", "parameters": ["say"]}',
  '[{"name": "echo"}]',
  'Here it is: {"name": "echo", "arguments": {"say": "hi"}}',
  '```json\n{"name": "echo", "arguments": {"say": "hi"}}\n```',
  'A list: [echo(say="hi")]',
  'if (a < b) { echo() }',
  '<function_calls> is how Claude begins.',
  'For example:\n<tool_call name="echo">{"say":"hi"}</tool_call>',
  '`<tool_call name="no_such_tool">{}</tool_call>',
  'It ends with echo and </tool_call>',
]
for (const text of CONTENT)
  test(`content: ${JSON.stringify(text)}`, () => {
    const { reply: meant, isUnreadable } = parse(text)
    assert.equal([meant, isUnreadable], [reply(text), false])
  })

test('a call that was made is not made again for its repetition in the text', () => {
  const made = { id: 'a', name: 'echo', arguments: '{}' }
  const text = 'I look.\n<tool_call>{"name":"echo","arguments":{}}</tool_call>'
  const { reply: meant } = parseInlineMarkup({ ...reply(text), calls: [made] }, TOOLS)
  assert.equal([meant.text, meant.calls], ['I look.', [made]])
})

test('text that turns out to be content is shown whole, in order, and what is held survives an end', () => {
  for (const text of CONTENT) {
    const shown: AgentEvent[] = []
    const held = holdMarkup(event => shown.push(event), NAMES)
    for (const char of text) held.emit({ type: 'token', messageId: 'm', text: char })
    held.emit({ type: 'message', message: { id: 'm', role: 'assistant', content: text } })
    assert.is(shown.map(event => (event.type === 'token' ? event.text : '')).join(''), text)
    assert.is(shown.at(-1)?.type, 'message')
  }
  const shown: string[] = []
  const held = holdMarkup(
    event => shown.push(event.type === 'token' ? event.text : event.type),
    NAMES,
  )
  held.emit({ type: 'token', messageId: 'm', text: 'I look. <tool_call>{"name' })
  held.flush()
  assert.equal(shown, ['I look. ', '<tool_call>{"name'])
})

const CHANNELS: [string, string][] = [
  [
    '<|channel|>analysis<|message|>2+2.<|end|><|start|>assistant<|channel|>final<|message|>It is 4.<|return|>',
    'It is 4.',
  ],
  ['<|start|>assistant<|channel|>final<|message|>It is <b>4</b>.', 'It is <b>4</b>.'],
  ['\n<|channel|>commentary<|message|>I look.<|end|>', ''],
]
for (const [text, said] of CHANNELS)
  test(`the channels of gpt-oss are never shown while they are written: ${text}`, () => {
    for (const size of [1, 7, text.length]) {
      const shown: string[] = []
      const held = holdMarkup(event => {
        if (event.type === 'token') shown.push(event.text)
      }, NAMES)
      for (let at = 0; at < text.length; at += size)
        held.emit({ type: 'token', messageId: 'm', text: text.slice(at, at + size) })
      assert.is(shown.join('').trimStart(), said, String(size))
    }
  })

test('a thought in a channel that was stopped is shown as one', () => {
  const shown: string[] = []
  const held = holdMarkup(event => {
    if (event.type === 'token' || event.type === 'reasoning') shown.push(event.type, event.text)
  }, NAMES)
  held.emit({ type: 'token', messageId: 'm', text: '<|channel|>analysis<|message|>2+2 ' })
  held.flush()
  assert.equal(shown, ['reasoning', '2+2 '])
})

const OPEN_FORMS = [
  '<tool_call>{"name":"echo","arguments":{"say":"hi"}',
  '[TOOL_CALLS]echo[ARGS]{"say":"hi"',
  '[TOOL_CALLS][{"name":"echo","arguments":{"say":"hi"}}',
  '<|tool_call>call:echo{say:<|"|>hi<|"|>',
  '{"name":"echo","arguments":{"say":"hi"}',
]
for (const text of OPEN_FORMS)
  test(`where no end mark came, a call without its last bracket is not run: ${text}`, () => {
    const { reply: read, isUnreadable } = parseInlineMarkup(
      { ...reply(text), isUnmarked: true },
      TOOLS,
    )
    assert.equal([read.calls, read.text, isUnreadable], [[], text, true])
    assert.is(parse(text).reply.calls.length, 1)
    const whole = '<tool_call>{"name":"echo","arguments":{"say":"hi"}}'
    assert.is(parseInlineMarkup({ ...reply(whole), isUnmarked: true }, TOOLS).reply.calls.length, 1)
  })

test('plain text is shown at once, word by word', () => {
  const words = 'At last, a cat sat. Come to it\nand look at 3 < 4 or a[1] to'.split(/(?<= )/)
  const shown: string[] = []
  const held = holdMarkup(event => {
    if (event.type === 'token') shown.push(event.text)
  }, NAMES)
  for (const text of words) held.emit({ type: 'token', messageId: 'm', text })
  assert.equal(shown, words)
})

test('JSON that names no tool, and words about a recipient, are shown while they are written', () => {
  for (const start of [
    '{"name": "Ada", "bio": "',
    '[first(1)] is ',
    'to=functions.f is a field: ',
  ]) {
    const shown: string[] = []
    const held = holdMarkup(event => {
      if (event.type === 'token') shown.push(event.text)
    }, NAMES)
    const whole = start + 'word '.repeat(40)
    for (const char of whole) held.emit({ type: 'token', messageId: 'm', text: char })
    assert.is(shown.join(''), whole)
  }
})

test.run()
