/** The reason of a crash, in what programs of all kinds print: the line with the error, never what is around it. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { crashReason } from '../../../../lib/agent/acp/crash-reason.ts'

const test = suite('crash reasons')

const NODE = '/srv/agent.js:3\nthrow new X()\n^\n\n'
const STACK =
  '    at Object.<anonymous> (/srv/agent.js:3:7)\n    at node:internal/main/run_main_module:36:49'
const VERSION = '\n\nNode.js v24.21.0\n'

const CASES: [what: string, printed: string, reason: string][] = [
  ['nothing', '', ''],
  ['a sentence', 'no license found\n', 'no license found'],
  [
    'an error of Node.js with properties',
    `${NODE}TypeError [ERR_INVALID_ARG_TYPE]: The "path" argument must be a string\n${STACK} {\n  code: 'ERR_INVALID_ARG_TYPE'\n}${VERSION}`,
    'TypeError [ERR_INVALID_ARG_TYPE]: The "path" argument must be a string',
  ],
  [
    'a missing module of Node.js',
    `node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\nError: Cannot find module 'left-pad'\nRequire stack:\n- /srv/agent.js\n${STACK} {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/srv/agent.js' ]\n}${VERSION}`,
    "Error: Cannot find module 'left-pad'",
  ],
  [
    'a message of two lines',
    `${NODE}Error: The login has expired.\nRun "agent login".\n${STACK}${VERSION}`,
    'Error: The login has expired. Run "agent login".',
  ],
  [
    'a warning after it',
    `Error: no key\n${STACK}\n(node:7) [DEP0040] DeprecationWarning: The punycode module is deprecated.\n(Use \`node --trace-deprecation ...\` to show where the warning was created)\n`,
    'Error: no key',
  ],
  [
    'only logs',
    '[idle-compaction] skip: cache TTL is unknown\n2026-01-02T03:04:05Z INFO started\n',
    '',
  ],
  [
    'Python',
    'Traceback (most recent call last):\n  File "/srv/agent.py", line 1, in <module>\n    import yaml\nModuleNotFoundError: No module named \'yaml\'\n',
    "ModuleNotFoundError: No module named 'yaml'",
  ],
  [
    'Rust',
    "thread 'main' panicked at src/main.rs:2:5:\nno home directory\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
    "thread 'main' panicked at src/main.rs:2:5: no home directory",
  ],
  [
    'an unknown option',
    "error: unexpected argument '--acp' found\n\nUsage: kimi [OPTIONS]\n\nFor more information, try '--help'.\n",
    "error: unexpected argument '--acp' found",
  ],
  [
    'Go',
    'panic: runtime error: index out of range [1] with length 0\n\ngoroutine 1 [running]:\nmain.main()\n\t/srv/main.go:5 +0x1d\nexit status 2\n',
    'panic: runtime error: index out of range [1] with length 0',
  ],
  [
    'npm',
    'npm error code E404\nnpm error 404 Not Found - GET https://registry.example/x - Not found\nnpm error A complete log of this run can be found in: /home/x/.npm/_logs/y.log\n',
    '404 Not Found - GET https://registry.example/x - Not found',
  ],
  ['a shell', 'sh: 1: agent-cli: not found\n', 'sh: 1: agent-cli: not found'],
]
test('finds the line with the error', () => {
  for (const [what, printed, reason] of CASES) assert.is(crashReason(printed), reason, what)
})

test.run()
