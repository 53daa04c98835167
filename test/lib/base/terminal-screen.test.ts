/** What a terminal shows in the end is what the model reads. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { TerminalScreen } from '../../../lib/base/terminal-screen.ts'

const test = suite('terminal screen')

/** The output, written in pieces of this length. */
const show = (text: string, piece = text.length || 1): string => {
  let shown = ''
  const screen = new TerminalScreen(added => {
    shown += added
  })
  for (let at = 0; at < text.length; at += piece) screen.write(text.slice(at, at + piece))
  screen.flush()
  return shown
}

const frames = (count: number, frame: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => frame(n + 1)).join('')

const CASES: [name: string, printed: string, shown: string][] = [
  ['plain text', 'a\nb\n\nc', 'a\nb\n\nc'],
  ['Windows line ends', 'a\r\nb\r\n', 'a\r\nb\r\n'],
  ['colors', '\x1b[31mred\x1b[0m\nx', '\x1b[31mred\x1b[0m\nx'],
  [
    '2,000 updates of one line',
    `start\n${frames(2_000, n => `\rdone ${n}%`)}\nend\n`,
    'start\ndone 2000%\nend\n',
  ],
  ['a shorter text over a longer one', 'working…\rok\n', 'okrking…\n'],
  ['erased to the end of the line', 'working\rok\x1b[K\n', 'ok\n'],
  ['erased and written again', 'working\x1b[2K\rok\n', 'ok\n'],
  ['erased, and nothing in its place', 'one\x1b[2K\ntwo\x1b[2K\r', 'one\ntwo'],
  ['erased by spaces', `${'working'}\r${' '.repeat(7)}\rok\n`, 'ok\n'],
  ['backspaces', 'loading -\b\\\b|\b/\n', 'loading /\n'],
  ['curl', `${frames(50, n => `\r${String(n * 2).padStart(3)} 100M  ${n}M`)}\n`, '100 100M  50M\n'],
  [
    'wget',
    `${frames(20, n => `\rfile  ${n * 5}%[${'='.repeat(n)}>${' '.repeat(20 - n)}]`)}\n\ndone\n`,
    `file  100%[${'='.repeat(20)}>]\n\ndone\n`,
  ],
  [
    'pip',
    `${frames(9, n => `\r   ${'━'.repeat(n)} ${n}/9 MB\x1b[K`)}\nInstalled\n`,
    `   ${'━'.repeat(9)} 9/9 MB\nInstalled\n`,
  ],
  [
    'npm',
    `${frames(30, n => `\x1b[1G\x1b[0K${'⠙⠹⠸'[n % 3]}`)}\x1b[1G\x1b[0Kadded 5 packages\n`,
    'added 5 packages\n',
  ],
  [
    'cargo',
    `${frames(5, n => `\x1b[K   Compiling c${n}\n    Building [${n}/5]\r`)}\x1b[K    Finished\n`,
    `${frames(5, n => `   Compiling c${n}\n`)}    Finished\n`,
  ],
  [
    'docker pull: two lines',
    `one: waiting\ntwo: waiting\n${frames(9, n => `\x1b[2A\x1b[2K\rone: ${n}\x1b[2B\x1b[1A\x1b[2K\rtwo: ${n}\x1b[1B\r`)}done\n`,
    'one: 9\ntwo: 9\ndone\n',
  ],
  [
    'buildkit: a block again and again',
    `${frames(9, n => `${n > 1 ? '\x1b[3A\x1b[0J' : ''}[+] ${n}s\n => a\n => b\n`)}end\n`,
    '[+] 9s\n => a\n => b\nend\n',
  ],
  ['previous and next line', 'a\nb\n\x1b[2Fx\x1b[Ey\n', 'x\ny\n'],
  [
    'the screen painted again and again',
    `before\n${frames(9, n => `\x1b[2J\x1b[Htime ${n}\nrow\n`)}`,
    'before\ntime 9\nrow\n',
  ],
  ['to the right and to the left', 'ab\x1b[2Cc\x1b[3DX\n', 'abX c\n'],
  ['up beyond the top', 'a\x1b[99A\rb\n', 'b\n'],
  [
    'a colored bar',
    `${frames(9, n => `\r\x1b[32m${'#'.repeat(n)}\x1b[0m`)}\n`,
    `\x1b[32m${'#'.repeat(9)}\x1b[0m\n`,
  ],
  [
    'a colored line that is partly written again',
    '\x1b[31mred red\x1b[0m\rgreen\n',
    'green\x1b[31med\x1b[0m\n',
  ],
  ['titles and other sequences', `x\r\x1b]0;title\x07y\n`, 'y\n'],
  ['a line without an end', `${'a'.repeat(10)}\r${'b'.repeat(4)}`, 'bbbbaaaaaa'],
  ['letters beyond ASCII', 'größe\rü\n', 'üröße\n'],
]
for (const [name, printed, shown] of CASES)
  test(name, () => {
    for (const piece of [printed.length, 7, 1]) {
      const seen = show(printed, piece)
      // Trailing spaces cannot be seen.
      const visible = (text: string) => text.replace(/ +(?=\x1b\[0m$|$)/gm, '')
      assert.is(
        visible(seen).replaceAll(/\r\n/g, '\n'),
        visible(shown).replaceAll(/\r\n/g, '\n'),
        `pieces of ${piece}`,
      )
    }
  })

test('plain output is not touched at all, however it arrives', () => {
  const text = frames(5_000, n => `line ${n}\x1b[3${n % 8}m colored\x1b[0m ${'x'.repeat(n % 90)}\n`)
  for (const piece of [1_000, 65_536]) assert.is(show(text, piece), text)
  assert.is(show('z'.repeat(2_000_000), 65_536).length, 2_000_000)
})

test('what was read while it ran goes on in a new line', () => {
  let shown = ''
  const screen = new TerminalScreen(added => {
    shown += added
  })
  for (const part of ['10%', '\r20%', '\r30%']) {
    screen.write(part)
    screen.flush()
  }
  screen.write(' done')
  screen.flush()
  assert.is(shown, '10%\n20%\n30% done')
})

test.run()
