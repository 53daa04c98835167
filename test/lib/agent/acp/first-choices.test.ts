/** What a new chat with an agent starts with: the mode, model, and options of config.yaml, else a mode that asks. */
import * as assert from 'uvu/assert'
import { askingMode } from '../../../../lib/agent/acp/choices.ts'
import { agentSuite } from './_external.ts'

const test = agentSuite('acp first choices')

type Given = [id: string, description: string][]

const CLAUDE: Given = [
  ['default', 'Always ask before making changes'],
  ['acceptEdits', 'Automatically accept all file edits'],
  ['plan', 'Create a plan before making changes'],
  ['auto', 'Claude handles permission decisions'],
  ['bypassPermissions', 'Accepts all permissions'],
]
const QWEN: Given = [
  ['plan', 'Analyze only, do not modify files or execute commands'],
  ['default', 'Require approval for file edits or shell commands'],
  ['auto-edit', 'Automatically approve file edits'],
  ['auto', 'LLM classifier auto-approves safe actions, blocks risky ones'],
  ['yolo', 'Automatically approve all tools'],
]
const CODEX: Given = [
  ['read-only', 'Requires approval to edit files and access the internet.'],
  [
    'workspace-write',
    'Edit workspace files; ask before writing outside the workspace or accessing the network.',
  ],
  ['agent', 'Only ask for actions detected as potentially unsafe'],
  ['agent-full-access', 'Unrestricted access to the internet and any file on your computer'],
]
const GEMINI: Given = [
  ['default', 'Prompts for approval'],
  ['autoEdit', 'Auto-approves edit tools'],
  ['yolo', 'Auto-approves all tools'],
]
const OPENCODE: Given = [
  ['build', 'The default agent. Executes tools based on configured permissions.'],
  ['plan', 'Plan mode. Disallows all edit tools.'],
]
const CURSOR: Given = [
  ['agent', 'Full agent capabilities with tool access'],
  ['plan', 'Read-only mode for planning'],
  ['ask', 'Q&A mode, no edits or command execution'],
]
const OURS: Given = [
  ['default', 'Asks before commands that may do harm.'],
  ['plan', 'Reads only, and presents a plan to approve before anything changes.'],
  ['auto', 'Runs commands without asking. Blocked commands stay blocked.'],
]

test('knows which mode of an agent asks', () => {
  const cases: [modes: Given, current: string, asking: string | null][] = [
    [CLAUDE, 'auto', 'default'],
    [CLAUDE, 'acceptEdits', 'default'],
    [CLAUDE, 'default', null],
    [QWEN, 'auto', 'default'],
    [CODEX, 'agent', 'read-only'],
    [CODEX, 'read-only', null],
    [
      [
        ['read-only', 'Codex can read files. Approval is required to edit files or run commands.'],
        ['auto', 'Codex can edit files; approval is required for files outside the workspace.'],
      ],
      'auto',
      'read-only',
    ],
    [GEMINI, 'yolo', 'default'],
    [OPENCODE, 'build', null],
    [CURSOR, 'agent', null],
    [OURS, 'auto', 'default'],
    [
      [
        ['auto', ''],
        ['approve', ''],
        ['smart_approve', ''],
        ['chat', ''],
      ],
      'auto',
      'approve',
    ],
    [
      [
        ['default', 'Runs everything automatically'],
        ['x', ''],
      ],
      'x',
      null,
    ],
    [
      [
        ['free', 'Never asks for permission'],
        ['wild', ''],
      ],
      'wild',
      null,
    ],
    [[], '', null],
  ]
  for (const [modes, current, asking] of cases) {
    const choices = modes.map(([id, description]) => ({ id, name: id, description }))
    const found = askingMode({ current, choices, set: async () => undefined })
    assert.is(found?.id ?? null, asking, `${current} of ${modes.map(([id]) => id).join()}`)
  }
})

const modesIn = (current: string, modes: Given, more = {}) => ({
  ACP_TEST_MODES: JSON.stringify({
    current,
    modes: modes.map(([id, description]) => ({ id, name: id, description })),
    ...more,
  }),
})
const settings = { env: {}, mcp: true }

test('a new chat starts in a mode that asks; what is chosen in it stays', async at => {
  at.place.env = modesIn('auto', CLAUDE)
  assert.equal((await at.say('mode')).text, 'default')
  assert.equal((await at.say('hello')).warnings, [])
  const kept = at.saved.get('tester')!
  at.saved.set('tester', { ...kept, mode: 'acceptEdits' })
  await at.restart()
  assert.is((await at.say('mode')).text, 'acceptEdits')
  at.place.env = modesIn('auto', CLAUDE, { asOption: true })
  at.saved.clear()
  await at.restart()
  assert.is((await at.say('mode')).text, 'default')
})

test('as configured, whatever asks; what the agent does not have is said once', async at => {
  at.place.env = modesIn('auto', CLAUDE)
  const cases: [more: object, chosen: object, warnings: RegExp[]][] = [
    [{ mode: 'auto' }, { mode: 'auto' }, []],
    [{ mode: 'plan', model: 'lab/large:free' }, { mode: 'plan', model: 'lab/large:free' }, []],
    [{ options: { loud: true } }, { mode: 'default', loud: true }, []],
    [
      { options: { loud: 'true', model: 'lab/large:free' } },
      { loud: true, model: 'lab/large:free' },
      [],
    ],
    [
      { mode: 'ask' },
      { mode: 'default' },
      [/no mode “ask” \(acp_mode\); it offers default, .*auto/],
    ],
    [{ model: 'huge' }, { model: 'small' }, [/the model “huge” \(acp_model\); it offers small/]],
    [
      { options: { quiet: 'x', loud: 'loudly' } },
      { loud: false },
      [/no option “quiet” \(acp_options\); it offers model, loud/, /no “loudly” .*true, false/],
    ],
  ]
  for (const [more, chosen, warnings] of cases) {
    at.place.settings = { ...settings, ...more }
    at.saved.clear()
    await at.restart()
    const turn = await at.say('chosen')
    const found = JSON.parse(turn.text)
    assert.equal({ ...found, ...chosen }, found, JSON.stringify(more))
    assert.is(turn.warnings.length, warnings.length, turn.warnings.join('\n'))
    for (const [index, words] of warnings.entries()) assert.match(turn.warnings[index] ?? '', words)
    assert.equal((await at.say('hello')).warnings, [])
  }
})

test('a model that was chosen in the menu goes before the configured one; a refusal of the agent is said', async at => {
  at.place.traits = 'strict'
  at.place.settings = { ...settings, model: 'huge', mode: 'free' }
  const turn = await at.say('chosen', { model: 'lab/large:free' })
  assert.is(JSON.parse(turn.text).model, 'lab/large:free')
  assert.match(
    turn.warnings.join('\n'),
    /did not take the mode “Free hand”: .*free needs a sandbox/,
  )
  assert.is(turn.warnings.length, 1)
})

test('what the agent repeats with each turn is shown once in a chat', async at => {
  const note = { severity: 'warning', title: 'Model metadata not found' }
  const notes = async (say: { title: string }, request = {}) =>
    (await at.say(`note ${JSON.stringify({ ...note, ...say })}`, { request })).warnings.filter(
      words => words === say.title,
    ).length
  assert.is(await notes(note), 1)
  assert.is(await notes(note), 0)
  assert.is(await notes({ ...note, title: 'Another one' }), 1)
  assert.is(await notes(note, { sessionKey: 'other' }), 1)
  assert.is(await notes({ ...note, severity: 'info', title: 'x' } as typeof note), 0)
})

test.run()
