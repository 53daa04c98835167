/** What a script prints comes at once and in order, although it is buffered. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { languageOf } from '../../../../lib/agent/code/languages.ts'
import { executeCode } from '../../../../lib/agent/tools/execute-code.ts'
import { createTestClock } from '../../../_clock.ts'
import { type Bench, createBench } from './_context.ts'

const test = suite('output of scripts')

let bench: Bench
test.before.each(() => {
  bench = createBench()
  bench.say('once')
  bench.ctx.toolNames = ['terminal']
  bench.ctx.call = async () => ({ content: '{}' })
})
test.after.each(() => bench.close())

const language = languageOf(process.env.PATH ?? '')

const run = async (code: string, timeoutMs = 60_000) => {
  if (!language) throw new Error('There is neither Python nor Node.')
  const { content } = await executeCode(language, { timeoutMs, maxCalls: 10 }).run(bench.ctx, {
    code,
  })
  return JSON.parse(content)
}

const CASES: [name: string, code: string, output: string][] = [
  ['many lines', 'for n in range(100000): print(n)', ''],
  [
    'before another program',
    'import subprocess\nprint("a")\nsubprocess.run(["echo", "b"])\nprint("c")',
    'a\nb\nc\n',
  ],
  ['before a shell', 'import os\nprint("a")\nos.system("echo b")\nprint("c")', 'a\nb\nc\n'],
  [
    'around a fork',
    'import os\nprint("a")\npid = os.fork()\nif pid == 0:\n    os._exit(0)\nos.waitpid(pid, 0)\nprint("b")',
    'a\nb\n',
  ],
  [
    'of a fork',
    'import os\npid = os.fork()\nif pid == 0:\n    print("a")\n    os._exit(0)\nos.waitpid(pid, 0)\nprint("b")',
    'a\nb\n',
  ],
  ['before an exit at once', 'import os\nprint("a")\nos._exit(0)', 'a\n'],
  [
    'of processes',
    'import multiprocessing as m\nm.set_start_method("fork")\np = m.Process(target=print, args=("a",))\np.start()\np.join()\nprint("b")',
    'a\nb\n',
  ],
  [
    'before a replaced program',
    'import os\nprint("a")\nos.execvp("echo", ["echo", "b"])',
    'a\nb\n',
  ],
  ['without a line end', 'print("a", end="")', 'a'],
  [
    'with a closed stdout',
    'import sys, time\nprint("a")\nsys.stdout.close()\ntime.sleep(0.2)',
    'a\n',
  ],
  ['before an error', 'print("a")\nraise SystemExit(3)', 'a\n'],
]
for (const [name, code, output] of CASES)
  test(name, async () => {
    if (language?.name !== 'Python') return console.log('skipped: there is no Python')
    const result = await run(code)
    if (output !== '') assert.is(result.output, output)
    else assert.match(result.output, /^0\n1\n[\s\S]*\n99998\n99999\n$/)
  })

test('what was printed is seen while a tool works', async () => {
  if (language?.name !== 'Python') return console.log('skipped: there is no Python')
  let seen = ''
  bench.ctx.call = async () => {
    // The pipe is read by this process.
    while (!bench.printed.join('').includes('before')) await new Promise(setImmediate)
    seen = bench.printed.join('')
    return { content: '{}' }
  }
  await run('print("before")\nterminal("true")\nprint("after")')
  assert.match(seen, 'before')
})

test('what was printed before the time limit is kept', async () => {
  if (language?.name !== 'Python') return console.log('skipped: there is no Python')
  const clock = createTestClock()
  bench.ctx.turn.clock = clock
  const limitMs = 1e9
  const running = run('import time\nprint("a")\ntime.sleep(600)', limitMs)
  while (!bench.printed.join('').includes('a')) await clock.advance(100)
  await clock.advance(limitMs)
  const result = await running
  assert.equal([result.status, result.output], ['timeout', 'a\n'])
})

test.run()
