/** Tasks that run programs: a Makefile, a server, a command that takes long, work that a kill interrupts. */
import { readdirSync } from 'node:fs'
import { writeFiles } from '../../test/_git.ts'
import { answer, call, createRepository, expect, run, type Task } from '../task.ts'

const MAKEFILE = '.PHONY: build test\n\nbuild:\n\tnode build.js\n\ntest: build\n\tnode --test\n'

const makefile: Task = {
  id: 'makefile',
  what: 'keeps tabs where they matter',
  prompt:
    'Add a target lint to the Makefile that runs node lint.js, and let test depend on it as well.',
  setup: workspace => createRepository(workspace, { Makefile: MAKEFILE, 'lint.js': '' }),
  script: [
    call('read_file', { path: 'Makefile' }),
    call('patch', {
      path: 'Makefile',
      old_string: 'test: build\n',
      new_string: 'lint:\n\tnode lint.js\n\ntest: build lint\n',
    }),
    call('patch', {
      path: 'Makefile',
      old_string: '.PHONY: build test',
      new_string: '.PHONY: build lint test',
    }),
    answer('make lint runs lint.js, and test depends on it.'),
  ],
  check({ read }) {
    const text = read('Makefile')
    expect(/^lint:.*\n\tnode lint\.js$/m.test(text), 'The target is missing, or has no tab.')
    expect(
      /^test:.*\bbuild\b.*\blint\b|^test:.*\blint\b.*\bbuild\b/m.test(text),
      'test does not depend on both.',
    )
    expect(/^build:\n\tnode build\.js$/m.test(text), 'build was changed.')
  },
}

const SERVER =
  "import { createServer } from 'node:http'\nimport { writeFileSync } from 'node:fs'\n\nconst server = createServer((req, res) =>\n  res.end(req.url === '/version' ? JSON.stringify({ version: [4, 2, 17].join('.') }) : 'hello'),\n)\nserver.listen(0, '127.0.0.1', () => writeFileSync('port.txt', String(server.address().port)))\n// Ends by itself when it is forgotten.\nsetTimeout(() => process.exit(), 60_000)\n"

const server: Task = {
  id: 'server',
  what: 'starts a server in the background, uses it and ends it',
  prompt:
    'Start server.js, which writes its port to port.txt, request /version from it, and stop it. Which version is it?',
  setup: workspace =>
    writeFiles(workspace, { 'package.json': '{ "type": "module" }\n', 'server.js': SERVER }),
  script: [
    run('node server.js', { background: true }),
    run(
      'until [ -s port.txt ]; do sleep 0.05; done; node -e "fetch(\'http://127.0.0.1:\' + process.argv[1] + \'/version\').then(r => r.text()).then(console.log)" "$(cat port.txt)"',
    ),
    call('process', { action: 'list' }),
    ({ result }) =>
      call('process', {
        action: 'kill',
        session_id: /proc_[0-9a-f]+/.exec(result)?.[0] ?? 'missing',
      }),
    answer('It is version 4.2.17; the server is stopped.'),
  ],
  check({ answer: text, read, node }) {
    expect(text.includes('4.2.17'), `The answer is “${text}”.`)
    const url = `http://127.0.0.1:${read('port.txt')}/`
    const { code } = node('-e', `await fetch('${url}')`)
    expect(code !== 0, 'The server still runs.')
  },
}

const BUILD =
  'let step = 0\nconst timer = setInterval(() => {\n  step += 1\n  console.log("step " + step)\n  if (step < 5) return\n  clearInterval(timer)\n  console.log("artifact " + (47 * 100 + 11))\n}, 400)\n'

const longCommand: Task = {
  id: 'long-command',
  what: 'gets the result of a command that outlives its time limit',
  prompt: 'Run node build.js and tell me the number of the artifact it prints at the end.',
  setup: workspace => writeFiles(workspace, { 'build.js': BUILD }),
  script: [
    run('node build.js', { timeout: 1 }),
    ({ result }) => {
      const id = /proc_[0-9a-f]+/.exec(result)?.[0]
      return id
        ? call('process', { action: 'wait', session_id: id })
        : run('node build.js', { timeout: 60 })
    },
    ({ result }) => answer(`It is artifact ${/artifact (\d+)/.exec(result)?.[1]}.`),
  ],
  check: ({ answer: text }) => expect(text.includes('4711'), `The answer is “${text}”.`),
}

const WORDS = ['one', 'two', 'three', 'four', 'five', 'six']

const resume: Task = {
  id: 'resume',
  what: 'continues after the service was killed',
  prompt:
    'Write part-1.txt to part-6.txt, each with its number as an English word, one file in each step, and then index.txt with the names of the six files, one per line.',
  setup: workspace => writeFiles(workspace, { 'README.md': '# Parts\n' }),
  killAfter: 3,
  script: [
    ...WORDS.map((word, at) =>
      call('write_file', { path: `part-${at + 1}.txt`, content: `${word}\n` }),
    ),
    run('ls part-*.txt > index.txt && cat index.txt'),
    answer('All six parts and index.txt are written.'),
  ],
  check({ read, workspace }) {
    for (const [at, word] of WORDS.entries())
      expect(read(`part-${at + 1}.txt`).trim() === word, `part-${at + 1}.txt is wrong.`)
    const names = WORDS.map((_, at) => `part-${at + 1}.txt`)
    expect(read('index.txt').trim() === names.join('\n'), 'index.txt is wrong.')
    const others = readdirSync(workspace)
      .filter(name => !names.includes(name))
      .toSorted()
    expect(others.join() === 'README.md,index.txt', `There are other files: ${others.join(', ')}`)
  },
}

export const PROGRAM_TASKS: readonly Task[] = [makefile, server, longCommand, resume]
