/** ANSI parser: hostile and truncated sequences first, then colors. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseAnsi, stripAnsi } from '../../../public/features/tool-calls/ansi.ts'

const ansi = suite('ansi')
const text = (raw: string): string =>
  parseAnsi(raw)
    .map(piece => piece.text)
    .join('')

ansi('removes sequences other than colors', () => {
  assert.is(text('\x1b[2J\x1b[1;1Ha\x1b[?25lb'), 'ab')
  assert.is(text('\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\'), 'alink')
  assert.is(text('\x1b(Ba\x1b=b\x1bMc'), 'abc')
  assert.is(text('a\x07\x00b'), 'ab')
})

ansi('drops a truncated sequence at the end', () => {
  const whole = 'x\x1b[38;2;1;2;3my\x1b[0m'
  for (let end = 0; end <= whole.length; end++) {
    assert.match(text(whole.slice(0, end)), /^x?y?$/)
  }
  assert.is(text('\x1b]0;never ended'), '')
})

ansi('absurd numbers do no harm', () => {
  assert.type(text('\x1b[38;5;99999mx\x1b[38;2;999;-1;mx\x1b[48mx\x1b[;;;;mx'), 'string')
  const [piece] = parseAnsi('\x1b[38;2;999;0;0mx')
  assert.is(piece?.style.color, '#ff0000')
})

ansi('a carriage return writes over the line', () => {
  assert.is(text('10%\r50%\r100%\nnext\r\nlast'), '100%\nnext\nlast')
  assert.is(text('kept\r'), 'kept')
})

ansi('the time grows with the length of the text, not with its square', () => {
  const HOSTILE = ['\r', '\r\rx', 'x\r', '\x1b[', '\x1b]0;', '\x1b[31m', '\x1b[1;', '1\r\n\r']
  // In quadratic time, each would take longer than the runner waits.
  for (const piece of HOSTILE) parseAnsi(`${piece.repeat(500_000)}x`)
})

ansi('16, 256 and true colors', () => {
  const colors = (raw: string) => parseAnsi(raw).map(piece => piece.style.color)
  assert.equal(colors('\x1b[31ma\x1b[91mb\x1b[38;5;9mc'), [1, 9, 9])
  assert.equal(colors('\x1b[38;5;214ma\x1b[38;5;232mb\x1b[38;5;16mc'), [
    '#ffaf00',
    '#080808',
    '#000000',
  ])
  assert.equal(colors('\x1b[38;2;1;2;3ma\x1b[38:2:4:5:6mb'), ['#010203', '#040506'])
})

ansi('styles begin and end each by its own code', () => {
  const pieces = parseAnsi('\x1b[1;4;31;42ma\x1b[22mb\x1b[24;39mc\x1b[0md')
  assert.equal(
    pieces.map(piece => piece.style),
    [
      { bold: true, underline: true, color: 1, background: 2 },
      { underline: true, color: 1, background: 2 },
      { background: 2 },
      {},
    ],
  )
})

ansi('strips colors', () => {
  assert.is(stripAnsi('\x1b[1mbold\x1b[0m plain'), 'bold plain')
})

ansi.run()
