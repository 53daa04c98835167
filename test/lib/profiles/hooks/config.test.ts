/** `hooks:` of config.yaml: what is read, what is refused, and the files its commands name. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseHooks } from '../../../../lib/profiles/hooks/config.ts'
import { programOf, scriptsOf } from '../../../../lib/profiles/hooks/scripts.ts'

const config = suite('hooks in config.yaml')

const refused = (section: unknown) => parseHooks(section).refused.join(' ')

config('what cannot be run as it is meant is refused with the place and the reason', () => {
  const before = (entry: unknown) => ({ pre_tool_call: [entry] })
  const table: [section: unknown, says: RegExp][] = [
    [['a'], /mapping/],
    ['yes', /mapping/],
    [true, /mapping/],
    [{ PreTool: [{ command: 'x' }] }, /PreTool is not supported|event PreTool/],
    [{ pretooluse: [{ command: 'x' }] }, /PreToolUse/],
    [{ PermissionRequest: [{ command: 'x' }] }, /PermissionRequest/],
    [{ transform_tool_result: [{ command: 'x' }] }, /transform_tool_result/],
    [{ pre_tool_call: { command: 'x' } }, /pre_tool_call should be a list/],
    [before('x'), /pre_tool_call\[0\] should be a mapping/],
    [before({}), /names no command/],
    [before({ command: ' ' }), /names no command/],
    [before({ command: ['a', 'b'] }), /names no command/],
    [before({ command: 'a\0b' }), /NUL/],
    [before({ command: 'x', matcher: '(' }), /no regular expression/],
    [before({ command: 'x', matcher: 'a'.repeat(501) }), /500/],
    [before({ command: 'x', matcher: 5 }), /no text/],
    [before({ command: 'x', timeout: 'soon' }), /timeout/],
    [before({ command: 'x', timeout: 0 }), /timeout/],
    [before({ command: 'x', timeout: -1 }), /timeout/],
    [before({ command: 'x', fail_closed: 'yes' }), /fail_closed/],
    [before({ command: 'x', if: 'Bash(git *)' }), /uses if/],
    [{ PreToolUse: [{ hooks: [{ type: 'prompt', prompt: 'x' }] }] }, /prompt/],
    [{ PreToolUse: [{ hooks: [{ type: 'http', url: 'x' }] }] }, /url|http/],
    [{ PreToolUse: [{ hooks: 'x' }] }, /list of mappings/],
    [{ PreToolUse: [{ command: 'x', hooks: [] }] }, /beside hooks/],
  ]
  for (const [section, says] of table) {
    assert.match(refused(section), says, JSON.stringify(section))
    assert.equal(parseHooks(section).hooks, [], JSON.stringify(section))
  }
})

config('a hook that is refused does not take the others with it', () => {
  const { hooks, refused: why } = parseHooks({
    pre_tool_call: [{ command: 'one' }, { command: '' }, { command: 'two' }],
    Stop: [{ hooks: [{ type: 'agent' }, { type: 'command', command: 'three' }] }],
  })
  assert.equal(
    hooks.map(({ command }) => command),
    ['one', 'two', 'three'],
  )
  assert.is(why.length, 2)
})

config('events that only observe and are not supported refuse nothing', () => {
  const {
    hooks,
    refused: why,
    notes,
  } = parseHooks({
    SessionEnd: [{ command: 'x' }],
    outbound: [{ url: 'https://example.com' }],
    output_spill: { enabled: true },
    pre_tool_call: null,
    PreCompact: [],
  })
  assert.equal([hooks, why], [[], []])
  assert.is(notes.length, 2)
  for (const nothing of [undefined, null, false, '', [], {}])
    assert.equal(parseHooks(nothing), { hooks: [], refused: [], notes: [] })
})

config('times are limited, and flags read in both spellings', () => {
  const [first, second, third] = parseHooks({
    pre_tool_call: [{ command: 'a' }, { command: 'b', timeout: 9_999 }],
    PreToolUse: [{ matcher: '*', hooks: [{ command: 'c', failClosed: true, timeout: '2' }] }],
  }).hooks
  assert.equal([first?.timeoutMs, first?.failClosed], [60_000, false])
  assert.is(second?.timeoutMs, 600_000)
  assert.equal([third?.timeoutMs, third?.failClosed, third?.matcher], [2_000, true, ''])
})

config('a matcher is compared with the names of a tool', () => {
  const terminal = ['terminal', 'Bash']
  const mcp = ['mcp_git_push', 'mcp__git__push']
  const table: [event: string, matcher: string, names: string[], matches: boolean][] = [
    ['pre_tool_call', '', terminal, true],
    ['pre_tool_call', 'terminal|patch', terminal, true],
    ['pre_tool_call', 'term', terminal, false],
    ['pre_tool_call', 'term.*', terminal, true],
    ['pre_tool_call', 'TERMINAL', terminal, false],
    ['PreToolUse', 'Bash', terminal, true],
    ['PreToolUse', 'Edit|Bash', terminal, true],
    ['PreToolUse', 'Edit, Bash', terminal, true],
    ['PreToolUse', 'Bas', terminal, false],
    ['PreToolUse', 'mcp__git__.*', mcp, true],
    ['PreToolUse', 'mcp__.*push', mcp, true],
    ['PreToolUse', '^terminal$', terminal, true],
    ['PreToolUse', '*', mcp, true],
    ['pre_tool_call', '(a+)+$', [`${'a'.repeat(20)}!`], false],
  ]
  for (const [event, matcher, names, matches] of table) {
    const [hook] = parseHooks({ [event]: [{ matcher, command: 'x' }] }).hooks
    assert.is(hook?.matches(names), matches, `${event} ${matcher} ${names}`)
  }
})

config('the scripts of a command are found, and no program of the system', () => {
  const place = { cwd: '/w', env: { HOME: '/home/me', X: '/x' } }
  const table: [command: string, scripts: string[], program: string | null][] = [
    ['~/.agent/hooks/a.sh', ['/home/me/.agent/hooks/a.sh'], '/home/me/.agent/hooks/a.sh'],
    ['python3 check.py --all', ['/w/check.py'], 'python3'],
    [
      '/usr/bin/python3 "/home/me/my hooks/a.py"',
      ['/home/me/my hooks/a.py', '/home/me/my', '/w/hooks/a.py'],
      '/usr/bin/python3',
    ],
    ["sh -c 'node ./tools/x.mjs' 2>/dev/null", ['/w/node ./tools/x.mjs', '/w/tools/x.mjs'], 'sh'],
    [
      '"$CLAUDE_PROJECT_DIR"/.claude/hooks/a.sh',
      ['/w/.claude/hooks/a.sh'],
      '/w/.claude/hooks/a.sh',
    ],
    ['$X/a || /opt/b', ['/x/a', '/opt/b'], '/x/a'],
    ['A=1 exec jq -r .tool_name', [], 'jq'],
    ['curl https://example.com/a.sh', [], 'curl'],
    ['cat > /dev/null; echo no >&2; exit 2', [], 'cat'],
    ['$(which x) y', [], null],
  ]
  for (const [command, scripts, program] of table) {
    assert.equal(scriptsOf(command, place), scripts, command)
    assert.is(programOf(command, place), program, command)
  }
})

config.run()
