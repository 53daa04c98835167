/** Long reading: forty steps and more that change nothing, and an answer that needs what all of them have shown. */
import { git, writeFiles } from '../../test/_git.ts'
import {
  answer,
  call,
  calls,
  commitAll,
  createRepository,
  expect,
  run,
  type Task,
} from '../task.ts'
import { linesOf, numbers, outputOf } from './results.ts'

const MODULES = numbers(40)
const nextOf = (at: number): number => (21 * at + 3) % MODULES.length
const weightOf = (at: number): number => (at * 37) % 101
const HEAVIEST = MODULES.toSorted((a, b) => weightOf(b) - weightOf(a))[0] ?? 0

const moduleText = (at: number): string =>
  `${nextOf(at) === 0 ? '// The last one.' : `import { part${nextOf(at)} } from './part-${nextOf(at)}.js'`}\n\nexport const name = 'part ${at}'\nexport const weight = ${weightOf(at)}\n`

const exploration: Task = {
  id: 'exploration',
  what: 'follows forty imports, with two reads in each message, and remembers what it has seen',
  prompt:
    'Follow the imports from src/part-0.js to the end, and read the note of each module in notes/ too. What is the sum of all weights, and in which line of which file is the largest? Change nothing.',
  setup: workspace =>
    createRepository(
      workspace,
      Object.fromEntries(
        MODULES.flatMap(at => [
          [`src/part-${at}.js`, moduleText(at)],
          [`notes/part-${at}.md`, `# Part ${at}\n\nOwner: team-${at % 5}\n`],
        ]),
      ),
    ),
  script: [
    calls(
      run('ls src | wc -l'),
      call('search_files', { pattern: '^// The last one', path: 'src' }),
    ),
    ...MODULES.map((_, step) => ({ results }: { results: readonly string[] }) => {
      expect(results.length === 2, `There are ${results.length} results instead of two.`)
      const found = /from '\.\/part-(\d+)\.js'/.exec(linesOf(results[0] ?? '').join('\n'))?.[1]
      const at = step === 0 ? '0' : found
      expect(at !== undefined, `The import after ${step} modules was not read.`)
      return calls(
        call('read_file', { path: `src/part-${at}.js` }),
        call('read_file', { path: `notes/part-${at}.md` }),
      )
    }),
    ({ all }) => {
      const read = all.map(result => ({
        text: result,
        weight: Number(/weight = (\d+)/.exec(result)?.[1] ?? 0),
      }))
      const sum = read.reduce((total, { weight }) => total + weight, 0)
      const [heaviest] = read.toSorted((a, b) => b.weight - a.weight)
      const at = /name = 'part (\d+)'/.exec(heaviest?.text ?? '')?.[1]
      return answer(`The sum is ${sum}; the largest weight is in src/part-${at}.js:4.`)
    },
  ],
  check({ answer: text, git: runGit }) {
    const sum = MODULES.reduce((total, at) => total + weightOf(at), 0)
    expect(text.includes(`is ${sum};`), `The sum is another one: “${text}”`)
    expect(text.includes(`src/part-${HEAVIEST}.js:4`), `The place is another one: “${text}”`)
    expect(runGit('status', '--porcelain') === '', 'Something was changed.')
  },
}

const PAGES = numbers(39)
const PAGE_LINES = 100
const lineOf = (line: number): string =>
  `${String(line).padStart(5, '0')} worker-${line % 7} took ${(line * 13) % 97} ms`

const longOutput: Task = {
  id: 'long-output',
  what: 'reads a long output page by page, and no line is missing or shortened',
  prompt:
    'run.js prints a long log. Run it into run.log, read all of it in pages of 100 lines, and tell me the sum of all times. Change nothing else.',
  setup: workspace =>
    createRepository(workspace, {
      'run.js': `for (let line = 1; line <= ${PAGES.length * PAGE_LINES}; line++)\n  console.log(String(line).padStart(5, '0') + ' worker-' + (line % 7) + ' took ' + ((line * 13) % 97) + ' ms')\n`,
      '.gitignore': 'run.log\n',
    }),
  script: [
    run('node run.js | tee run.log'),
    ({ result }) => {
      const output = outputOf(result)
      expect(output.startsWith(`${lineOf(1)}\n`), 'The output begins with another line.')
      expect(output.trimEnd().endsWith(lineOf(3_900)), 'The output ends with another line.')
      return call('read_file', { path: 'run.log', limit: PAGE_LINES })
    },
    ...PAGES.slice(1).map(page => ({ result }: { result: string }) => {
      const wanted = numbers(PAGE_LINES).map(at => lineOf((page - 1) * PAGE_LINES + at + 1))
      expect(linesOf(result).join('\n') === wanted.join('\n'), `Page ${page} is not whole.`)
      return call('read_file', {
        path: 'run.log',
        offset: page * PAGE_LINES + 1,
        limit: PAGE_LINES,
      })
    }),
    ({ all }) => {
      const times = all
        .slice(1)
        .flatMap(result => linesOf(result).map(line => /took (\d+)/.exec(line)?.[1] ?? 0))
      expect(times.length === 3_900, `${times.length} lines were read.`)
      return answer(`The sum is ${times.reduce((sum: number, time) => sum + Number(time), 0)} ms.`)
    },
  ],
  check({ answer: text, git: runGit }) {
    const sum = numbers(3_900).reduce((total, at) => total + (((at + 1) * 13) % 97), 0)
    expect(text.includes(` ${sum} ms`), `The answer is “${text}”.`)
    expect(runGit('status', '--porcelain') === '', 'Something was changed.')
  },
}

const FILES = numbers(20)
const PLANTED = [3, 8, 13, 17]
const sourceOf = (at: number): string =>
  `export const limit${at} = 10\n\nexport const isAllowed${at} = count => {\n  if (count > limit${at}) return false\n  return true\n}\n`
const changedOf = (at: number): string =>
  PLANTED.includes(at)
    ? sourceOf(at).replace(`count > limit${at}`, `count < limit${at}`)
    : sourceOf(at).replace('= 10', '= 12')

const review: Task = {
  id: 'review',
  what: 'reviews a branch of twenty changed files, and changes nothing',
  prompt:
    'Review the branch raise-limits against main: it should only raise the limits from 10 to 12. Change nothing.',
  setup(workspace) {
    createRepository(
      workspace,
      Object.fromEntries(FILES.map(at => [`src/limit-${at}.js`, sourceOf(at)])),
    )
    git(workspace, 'switch', '--quiet', '-c', 'raise-limits')
    writeFiles(
      workspace,
      Object.fromEntries(FILES.map(at => [`src/limit-${at}.js`, changedOf(at)])),
    )
    commitAll(workspace, 'Raise the limits')
  },
  script: [
    run('git log --oneline main..HEAD && git diff --stat main | tail -1'),
    ...FILES.flatMap(at => [
      run(`git diff main -- src/limit-${at}.js`),
      ({ result }: { result: string }) => {
        expect(outputOf(result).includes(`limit-${at}.js`), `The diff of file ${at} is missing.`)
        return call('read_file', { path: `src/limit-${at}.js` })
      },
    ]),
    ({ all }) => {
      const findings = all.flatMap(result => {
        const file = /^\+\+\+ b\/(\S+)/m.exec(String(JSON.parse(result).output ?? ''))?.[1]
        return file && /^\+ {2}if \(count </m.test(outputOf(result))
          ? [`- ${file}:4 turns the comparison around: everything below the limit is refused.`]
          : []
      })
      return answer(findings.join('\n'))
    },
  ],
  check({ answer: text, git: runGit }) {
    const named = [...text.matchAll(/src\/limit-(\d+)\.js:4/g)].map(match => Number(match[1]))
    expect(named.join() === PLANTED.join(), `The findings are in ${named.join(', ')}.`)
    expect(runGit('status', '--porcelain') === '', 'Something was changed.')
    expect(runGit('branch', '--show-current') === 'raise-limits', 'The branch was changed.')
  },
}

export const LONG_READING_TASKS: readonly Task[] = [exploration, longOutput, review]
