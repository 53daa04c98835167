/** Hidden characters in names and commands: shown by their number; what people write stays as it is. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { visibleName, visibleText, visibleWords } from '../../../lib/base/visible.ts'

const test = suite('hidden characters')

test('every character that changes how others look is shown', () => {
  const hidden: string[] = []
  for (let code = 0; code <= 0x10ffff; code++) {
    const text = `a${String.fromCodePoint(code)}b`
    const shown = visibleName(text)
    if (shown !== text) hidden.push(code.toString(16))
    if (shown !== text)
      assert.is(shown, `a⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩b`)
  }
  const wanted = [
    ...['0', '7', '8', '9', 'a', 'd', '1b', '7f', '80', '85', '9b', 'ad', '34f', '61c', '115f'],
    ...['180e', '200b', '200c', '200d', '200e', '200f', '2028', '2029', '202a', '202b', '202c'],
    ...['202d', '202e', '2060', '2064', '2066', '2067', '2068', '2069', '206a', '206f', '2800'],
    ...['3164', 'd800', 'dfff', 'fe00', 'fe0f', 'feff', 'ffa0', 'fff9', 'fffe', 'e0001', 'e0041'],
    ...['e007f', 'e0100', 'e01ef', '10ffff'],
  ]
  assert.equal(
    wanted.filter(code => !hidden.includes(code)),
    [],
  )
  for (const usual of ['20', '41', 'e4', '5d0', '627', '4e00', '1f600', 'a0', '202f', '300'])
    assert.not.ok(hidden.includes(usual), usual)
})

test('what people write in names stays readable', () => {
  for (const name of [
    ...['Überblick', 'שלום.txt', 'تقرير نهائي', '报告', 'отчёт', '한글', 'नमस्ते', 'क्‍ष', 'می‌خواهم'],
    ...['👩‍👩‍👧‍👦 family', '🏳️‍🌈', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '1️⃣', '☎︎', '❤️', '👍🏽', '🧑🏽‍💻', '🇩🇪', '葛󠄀'],
    'Screenshot 2026-01-01 at 9.00\u202fAM.png',
  ]) {
    assert.is(visibleName(name), name)
    assert.is(visibleName(name), name)
  }
})

/** Unicode's spaces other than the plain one. */
const SPACES = [0xa0, 0x1680, 0x202f, 0x205f, 0x3000].concat(
  Array.from({ length: 11 }, (_, at) => 0x2000 + at),
)

test('a space that is not the plain one is marked in a command, at any position', () => {
  const codes = Array.from({ length: 0x10000 }, (_, code) => code)
  assert.equal(
    codes.filter(code => /\p{Zs}/u.test(String.fromCharCode(code))),
    [0x20, ...SPACES].sort((a, b) => a - b),
  )
  for (const code of SPACES) {
    const space = String.fromCharCode(code)
    const mark = `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
    assert.is(visibleText(`${space}rm${space}-rf x${space}`), `${mark}rm${mark}-rf x${mark}`)
    assert.is(visibleText(`--- a/x${space}`), `--- a/x${mark}`)
    assert.is(visibleWords(`9:41${space}AM`), `9:41${space}AM`)
    // In a name it may part two words; at an end or beside another space it cannot be seen.
    assert.is(visibleName(`${space}a`), `${mark}a`)
    assert.is(visibleName(`a${space}`), `a${mark}`)
    assert.is(visibleName(`a ${space}b`), `a ${mark}b`)
    assert.is(visibleName(`a${space}${space}b`), `a${mark}${mark}b`)
  }
})

test('lines and tabs belong to a command, not to a name', () => {
  assert.is(visibleText('a\n\tb\r\u001b[2K'), 'a\n\tb⟨U+000D⟩⟨U+001B⟩[2K')
  assert.is(visibleName('a\nb'), 'a⟨U+000A⟩b')
  assert.is(visibleName('results\u202etxt.user'), 'results⟨U+202E⟩txt.user')
  assert.is(visibleName(visibleName('\u202e')), '⟨U+202E⟩')
})

test.run()
