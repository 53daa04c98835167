/** Hooks as real programs: what they get, what each answer does, and programs that misbehave. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { watchSecrets } from '../../../../lib/base/redact/redact.ts'
import { parseHooks } from '../../../../lib/profiles/hooks/config.ts'
import { HookRecords } from '../../../../lib/profiles/hooks/records.ts'
import { TurnHooks } from '../../../../lib/profiles/hooks/turn-hooks.ts'
import { ended, isAlive, until } from '../../../_wait.ts'
import { createTestClock } from '../../../_clock.ts'
import { tempDir } from '../../../_temp-dir.ts'

const hooks = suite('hooks of a turn')

const cwd = tempDir('hooks')
const SECRET = 'sk-secret-0123456789'
const MASKED = 'sk-sec...6789'
const known = [SECRET]
watchSecrets(() => known)

const open = (section: unknown) => {
  const { hooks: parsed, refused } = parseHooks(section)
  assert.equal(refused, [])
  const warnings: string[] = []
  const records = new HookRecords(createTestClock(1_000_000))
  const turn = TurnHooks.ofTurn({
    hooks: () => parsed,
    place: { sessionId: 's1', cwd, profile: 'default', home: '/home', model: 'm' },
    env: { PATH: process.env.PATH ?? '', HOME: cwd },
    records,
    warn: message => warnings.push(`${message}`),
  })
  return { turn, warnings, rows: () => records.rows('/home', parsed) }
}

const call = (
  name = 'terminal',
  input: Record<string, unknown> = { command: 'ls' },
  signal = new AbortController().signal,
) => ({ callId: 'c1', tool: { name, kind: 'execute' as const }, input, signal })

/** One hook before a tool. */
const before = async (entry: Record<string, unknown>, event = 'pre_tool_call', given = call()) => {
  const { turn, warnings, rows } = open({ [event]: [entry] })
  const answer = await turn.before(given)
  return { ...answer, warnings, rows, stopped: turn.stopped() }
}

const print = (value: unknown): string => `cat >/dev/null; printf '%s' '${JSON.stringify(value)}'`

hooks('every form of refusal blocks, with its reason', async () => {
  const special = (decision: string, reason?: string) => ({
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: decision,
      ...(reason && { permissionDecisionReason: reason }),
    },
  })
  const table: [command: string, reason: string][] = [
    ['echo "not that" >&2; exit 2', 'not that'],
    ['exit 2', 'no reason given'],
    [`echo ${'x'.repeat(5_000)} >&2; exit 2`, 'x'.repeat(4_000)],
    ['echo \'{"decision":"block","reason":"json"}\'; echo stderr >&2; exit 2', 'json'],
    [print({ decision: 'block', reason: 'no' }), 'no'],
    [print({ action: 'block', message: 'no' }), 'no'],
    [print({ decision: 'deny', reason: 'né ✗ 日本' }), 'né ✗ 日本'],
    [print({ decision: 'block' }), 'no reason given'],
    [print(special('deny', 'policy')), 'policy'],
    [print({ ...special('allow'), decision: 'block', reason: 'block wins' }), 'block wins'],
    [`${print({ decision: 'block', reason: 'and failed' })}; exit 7`, 'and failed'],
    [print({ decision: 'block', reason: SECRET }), MASKED],
  ]
  for (const event of ['pre_tool_call', 'PreToolUse'])
    for (const [command, reason] of table) {
      const { blocked, activity } = await before({ command }, event)
      assert.is(blocked, reason, `${event}: ${command}`)
      assert.is(activity.at(-1)?.action, 'blocked')
    }
})

hooks('a secret is masked before the text is shortened', async () => {
  for (const at of [180, 190, 195]) {
    const { activity } = await before({
      command: print({ decision: 'block', reason: `${'x'.repeat(at)}${SECRET} and more` }),
    })
    assert.not.match(activity.at(-1)?.text ?? '', 'sk-secret', `${at}`)
  }
})

hooks(
  'a hook that fails lets the call pass with a warning, and blocks it when it is to fail closed',
  async () => {
    const table: [entry: Record<string, unknown>, says: RegExp][] = [
      [{ command: 'echo oops >&2; exit 1' }, /exit code 1: oops/],
      [{ command: '/nowhere/hook.sh' }, /could not be started.*127/],
      [{ command: cwd }, /could not be started.*126/],
      [{ command: 'kill -9 $$' }, /SIGKILL/],
      [{ command: 'sleep 60', timeout: 0.1 }, /longer than 0.1 s/],
      // It left the group and holds the pipe.
      [{ command: 'setsid sleep 5 & sleep 60', timeout: 0.1 }, /longer than/],
      [{ command: 'yes' }, /more than 1 MB/],
      [{ command: 'echo "{broken"' }, /no JSON object/],
      [{ command: print({ decision: 'perhaps' }) }, /unknown decision/],
      [{ command: print({ action: 'modify', args: 'x' }) }, /unknown decision/],
    ]
    for (const [entry, says] of table) {
      const { blocked, warnings, activity, rows } = await before(entry)
      assert.is(blocked, null, entry.command as string)
      assert.is(warnings.length, 1, `${entry.command}: ${warnings}`)
      assert.match(warnings[0] ?? '', says)
      assert.is(activity[0]?.action, 'failed')
      assert.equal([rows()[0]?.runs, rows()[0]?.failures], [1, 1])
      assert.match(rows()[0]?.last_failure ?? '', says)
      const closed = await before({ ...entry, fail_closed: true })
      assert.match(closed.blocked ?? '', says, entry.command as string)
    }
    // A crashed check that printed nothing, or not what it should, must not let the call pass.
    const { blocked } = await before({ command: 'echo fine', fail_closed: true }, 'PreToolUse')
    assert.match(blocked ?? '', /no JSON object/)
  },
)

hooks('without an answer the call passes, and nothing is reported', async () => {
  for (const command of ['true', print({}), 'exec <&-', 'cat >/dev/null; sleep 30 &'])
    for (const event of ['pre_tool_call', 'PreToolUse']) {
      const answer = await before({ command }, event)
      assert.equal(
        [answer.blocked, answer.input, answer.decision, answer.context, answer.activity],
        [null, null, null, [], []],
        command,
      )
      assert.equal(answer.warnings, [], command)
    }
  // Other agents allow text for the log; the host agent does not.
  assert.equal((await before({ command: 'echo formatted' }, 'PreToolUse')).warnings, [])
  assert.is((await before({ command: 'echo formatted' })).warnings.length, 1)
})

hooks('input that is not read, however long, does no harm', async () => {
  const long = call('write_file', { path: 'a', content: 'ü'.repeat(3_000_000) })
  const { blocked, warnings } = await before({ command: 'exit 0' }, 'pre_tool_call', long)
  assert.equal([blocked, warnings], [null, []])
})

hooks('a stop ends the hook and everything it has started', async () => {
  const stop = new AbortController()
  const started = join(cwd, 'started')
  const pid = () => (existsSync(started) ? Number(readFileSync(started, 'utf8')) : 0)
  const { turn, warnings, rows } = open({
    pre_tool_call: [{ command: `sleep 600 & echo $! >${started}; wait` }],
  })
  const waiting = turn.before(call('terminal', {}, stop.signal)).catch((error: unknown) => error)
  await until(() => pid() > 0)
  assert.ok(isAlive(pid()))
  stop.abort(new Error('stopped'))
  assert.is(((await waiting) as Error).message, 'stopped')
  assert.equal([warnings, rows()[0]?.failures], [[], 0])
  await ended(pid())
})

hooks('a hook gets the call in its own spelling', async () => {
  const given = async (event: string, one: ReturnType<typeof call>) => {
    const file = join(cwd, 'given.json')
    await before({ command: `cat >${file}` }, event, one)
    return JSON.parse(readFileSync(file, 'utf8'))
  }
  const edit = call('patch', { path: 'ä.txt', new_string: 'x' })
  const host = await given('pre_tool_call', edit)
  assert.equal(
    [host.hook_event_name, host.tool_name, host.tool_input, host.session_id, host.cwd],
    ['pre_tool_call', 'patch', { path: 'ä.txt', new_string: 'x' }, 's1', cwd],
  )
  assert.is(host.extra.tool_call_id, 'c1')
  assert.is(host.profile, 'default')
  const common = await given('PreToolUse', edit)
  assert.equal(
    [common.hook_event_name, common.tool_name, common.tool_use_id],
    ['PreToolUse', 'Edit', 'c1'],
  )
  assert.is(common.tool_input.file_path, 'ä.txt')
  const own = await given('PreToolUse', call('memory', { path: 'x' }))
  assert.equal([own.tool_name, own.tool_input], ['memory', { path: 'x' }])
})

hooks('a hook changes arguments: over the present ones, or all of them', async () => {
  const edit = () => call('patch', { path: 'a.txt', mode: 'replace' })
  const updated = (values: unknown) => ({ hookSpecificOutput: { updatedInput: values } })
  const table: [event: string, answer: unknown, input: unknown][] = [
    [
      'pre_tool_call',
      { action: 'modify', args: { mode: 'patch' } },
      { path: 'a.txt', mode: 'patch' },
    ],
    [
      'pre_tool_call',
      { decision: 'modify', tool_input: { path: 'b' } },
      { path: 'b', mode: 'replace' },
    ],
    ['PreToolUse', updated({ path: 'b' }), { path: 'b' }],
    ['PreToolUse', updated({ file_path: 'b', path: 'a.txt', mode: 'x' }), { path: 'b', mode: 'x' }],
    ['PreToolUse', updated({ file_path: 'a.txt', path: 'b', mode: 'x' }), { path: 'b', mode: 'x' }],
  ]
  for (const [event, answer, input] of table) {
    const changed = await before({ command: print(answer) }, event, edit())
    assert.equal(changed.input, input, JSON.stringify(answer))
    assert.is(changed.activity[0]?.action, 'changed')
  }
  // A failed program changes and allows nothing.
  for (const answer of [updated({ path: 'b' }), { decision: 'allow' }]) {
    const failed = await before({ command: `${print(answer)}; exit 3` }, 'PreToolUse', edit())
    assert.equal([failed.input, failed.decision], [null, null])
  }
})

hooks(
  'hooks run in the order of the file: each sees the arguments of the one before, and the first refusal ends it',
  async () => {
    const log = join(cwd, 'order')
    const { turn } = open({
      pre_tool_call: [
        { command: `${print({ action: 'modify', args: { n: 1 } })}; echo one >>${log}` },
        { command: `cat >>${log}` },
        { command: 'sleep 0.05; exit 2' },
        { command: `echo never >>${log}` },
      ],
      PreToolUse: [{ command: `echo never >>${log}` }],
    })
    assert.is((await turn.before(call())).blocked, 'no reason given')
    const [first = '', second = '', ...rest] = readFileSync(log, 'utf8').trim().split('\n')
    assert.is(first, 'one')
    assert.is(JSON.parse(second).tool_input.n, 1)
    assert.equal(rest, [])
  },
)

hooks('ask wins over allow, whatever the spelling', async () => {
  const permission = (permissionDecision: string) => ({
    hookSpecificOutput: { permissionDecision },
  })
  const table: [answers: unknown[], decision: string | null][] = [
    [[{ decision: 'approve' }], 'allow'],
    [[{ action: 'approve' }], 'ask'],
    [[permission('allow')], 'allow'],
    [[permission('ask'), permission('allow')], 'ask'],
    [[permission('allow'), permission('ask')], 'ask'],
    [[permission('defer')], null],
    [[{ ...permission('ask'), decision: 'approve' }], 'ask'],
  ]
  for (const [answers, decision] of table) {
    const { turn } = open({ pre_tool_call: answers.map(answer => ({ command: print(answer) })) })
    assert.is((await turn.before(call())).decision, decision, JSON.stringify(answers))
  }
})

hooks(
  'after a call: text for the model, an objection, another result, and only the wanted outcome',
  async () => {
    const after = async (event: string, command: string, isError = false) => {
      const { turn } = open({ [event]: [{ command }] })
      return turn.after(call(), { content: '{"output":"x"}', isError, durationMs: 5 })
    }
    const added = { hookSpecificOutput: { additionalContext: `look ${SECRET}` } }
    assert.equal((await after('PostToolUse', print(added))).context, [`look ${MASKED}`])
    assert.equal((await after('post_tool_call', print({ context: 'c' }))).context, ['c'])
    const objection = ['A hook objects: lint failed']
    assert.equal((await after('PostToolUse', 'echo lint failed >&2; exit 2')).context, objection)
    const block = print({ decision: 'block', reason: 'lint failed' })
    assert.equal((await after('PostToolUse', block)).context, objection)
    const other = print({ hookSpecificOutput: { updatedToolOutput: SECRET } })
    assert.is((await after('PostToolUse', other)).content, MASKED)
    assert.equal((await after('PostToolUse', block, true)).context, [])
    assert.equal((await after('PostToolUseFailure', block)).context, [])
    assert.equal((await after('PostToolUseFailure', block, true)).context, objection)
    const [text = ''] = (await after('PostToolUse', print({ context: 'x'.repeat(50_000) }))).context
    assert.ok(text.length < 10_100, String(text.length))
  },
)

hooks('the end of a turn: a hook objects a few times at most', async () => {
  const { turn, warnings } = open({ Stop: [{ command: 'echo tests fail >&2; exit 2' }] })
  const { signal } = new AbortController()
  for (let times = 1; times <= 5; times++)
    assert.is((await turn.atEnd('done', signal))?.text, 'tests fail', String(times))
  assert.is(await turn.atEnd('done', signal), null)
  assert.match(warnings[0] ?? '', /last objection was ignored/)
  // It knows that it has objected before.
  const kind = open({
    Stop: [{ command: `grep -q '"stop_hook_active":true' || { echo once >&2; exit 2; }` }],
  })
  assert.is((await kind.turn.atEnd('done', signal))?.text, 'once')
  assert.is(await kind.turn.atEnd('done', signal), null)
  assert.equal(kind.warnings, [])
})

hooks('pre_verify runs only in turns that changed files', async () => {
  const { turn } = open({
    pre_verify: [{ command: print({ action: 'continue', message: 'format it' }) }],
  })
  const { signal } = new AbortController()
  assert.is(await turn.atEnd('done', signal), null)
  const change = { ...call('patch', {}), tool: { name: 'patch', kind: 'write' as const } }
  await turn.after(change, { content: '', isError: true, durationMs: 0 })
  assert.is(await turn.atEnd('done', signal), null)
  await turn.after(change, { content: '', isError: false, durationMs: 0 })
  assert.is((await turn.atEnd('done', signal))?.text, 'format it')
})

hooks('a subagent has its own end; the turn’s observers see the turn only', async () => {
  const file = join(cwd, 'ends')
  const log = (word: string) => ({ command: `cat >/dev/null; echo ${word} >>${file}` })
  const { turn } = open({
    Stop: [log('Stop')],
    SubagentStop: [{ matcher: 'reviewer', ...log('SubagentStop') }],
    subagent_stop: [{ command: `cat >>${file}; echo >>${file}` }],
    on_session_end: [log('on_session_end')],
    post_llm_call: [log('post_llm_call')],
  })
  const { signal } = new AbortController()
  const end = { status: 'finished' as const, text: 'sum', model: 'm', durationMs: 3 }
  const child = turn.ofSubagent({ id: 'c1.0', name: 'reviewer', goal: 'look' })
  const other = turn.ofSubagent({ id: 'c1.1', name: 'general-purpose', goal: 'look' })
  await other.atEnd('sum', signal)
  await child.atEnd('sum', signal)
  await child.ended(end, signal)
  await turn.atEnd('done', signal)
  await turn.ended({ ...end, status: 'failed' }, signal)
  await turn.ended(end, signal)
  const [first, second = '', ...rest] = readFileSync(file, 'utf8').trim().split('\n')
  assert.is(first, 'SubagentStop')
  const { agent_type, extra } = JSON.parse(second)
  assert.equal(
    [agent_type, extra.child_status, extra.child_summary],
    ['reviewer', 'completed', 'sum'],
  )
  assert.equal(rest, ['Stop', 'on_session_end', 'on_session_end', 'post_llm_call'])
})

hooks('a message: context from text or JSON, and a refusal', async () => {
  const submit = async (section: unknown, moment: 'first' | 'later' | 'steering' = 'later') => {
    const { turn, warnings } = open(section)
    const answer = await turn.submitted('hello', moment, new AbortController().signal)
    return { ...answer, warnings }
  }
  const both = {
    UserPromptSubmit: [{ command: 'cat >/dev/null; echo plain' }],
    pre_llm_call: [{ command: print({ context: 'json' }) }],
    SessionStart: [{ matcher: 'startup', command: 'echo begins' }],
  }
  assert.equal((await submit(both)).context, ['plain', 'json'])
  assert.equal((await submit(both, 'first')).context, ['begins', 'plain', 'json'])
  const refusing = { UserPromptSubmit: [{ command: 'grep -q hello && { echo no >&2; exit 2; }' }] }
  assert.equal(await submit(refusing), { blocked: 'no', context: [], warnings: [] })
  assert.is((await submit(refusing, 'steering')).warnings.length, 1)
  // In the host agent, exit code 2 of this event is only a failure.
  const host = await submit({ pre_llm_call: [{ command: 'exit 2' }] })
  assert.equal([host.blocked, host.warnings.length], [null, 1])
  const closed = await submit({ UserPromptSubmit: [{ command: 'exit 1', fail_closed: true }] })
  assert.match(closed.blocked ?? '', /a hook failed/)
})

hooks('"continue": false ends the turn, and a message is shown', async () => {
  const { turn, warnings } = open({
    PostToolUse: [
      { command: print({ continue: false, stopReason: 'enough', systemMessage: 'hi' }) },
    ],
  })
  assert.is(turn.stopped(), null)
  await turn.after(call(), { content: '', isError: false, durationMs: 0 })
  assert.is(turn.stopped(), 'enough')
  assert.equal(warnings, ['hi', 'A hook ended this answer: enough'])
})

hooks('an asynchronous hook is not waited for', async () => {
  const [go, done] = [join(cwd, 'go'), join(cwd, 'done')]
  const { turn } = open({
    PreToolUse: [
      { command: `until [ -e ${go} ]; do sleep 0.02; done; touch ${done}; exit 2`, async: true },
    ],
  })
  assert.is((await turn.before(call())).blocked, null)
  assert.not(existsSync(done))
  writeFileSync(go, '')
  await until(() => existsSync(done))
})

hooks.run()
