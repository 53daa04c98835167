/** Checks without a browser: theme contrast, style sheets, times, shortcuts, virtual ranges, text. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { withSystemTheme } from '../../build/system-theme.mjs'
import { SETTINGS } from '../../lib/base/settings.ts'
import { THEMES } from '../../public/features/settings/settings.ts'
import { shortcuts } from '../../public/features/frame/keys.ts'
import { chordOf, formatKeys } from '../../public/features/shell/keys.ts'
import { en } from '../../public/strings/en.ts'
import { enApp } from '../../public/strings/en/app.ts'
import { enChat } from '../../public/strings/en/chat.ts'
import { enSessions } from '../../public/strings/en/sessions.ts'
import { t } from '../../public/strings/t.ts'
import { formatAgo, groupOf } from '../../public/parts/relative-time.ts'
import { toOffsets, visibleRange } from '../../public/features/sessions/session-list.tsx'

const style = new URL('../../public/style/', import.meta.url)
const ROLES =
  'bg bg-raised bg-sunken line text text-dim text-faint accent accent-text ok warn bad focus sel'

const channel = (value: number): number =>
  value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
const luminance = (hex: string): number => {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map(at =>
    channel(Number.parseInt(hex.slice(at, at + 2), 16) / 255),
  )
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
const contrast = (a: string, b: string): number => {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

const test = suite('themes and formats')

const themes = readdirSync(new URL('themes/', style)).filter(file => file !== 'accents.css')
const pairsOf = (css: string) =>
  new Map(
    [...css.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name!, value!]),
  )

for (const file of themes) {
  test(`${file}: sets the roles and nothing else; contrast of text 4.5:1, of lines 3:1`, () => {
    const css = readFileSync(new URL(`themes/${file}`, style), 'utf8')
    const colors = pairsOf(css)
    assert.equal([...colors.keys()].join(' '), ROLES)
    assert.not.match(css.replace(/--[\w-]+: #[0-9a-f]{6};/g, ''), /;/)
    const of = (name: string) => colors.get(name)!
    const least = (name: string, ground: string, wanted: number) => {
      const is = contrast(of(name), of(ground))
      assert.ok(is >= wanted, `${name} on ${ground}: ${is.toFixed(2)}, wanted ${wanted}`)
    }
    for (const ground of ['bg', 'bg-raised', 'bg-sunken']) {
      for (const name of ['text', 'text-dim', 'text-faint', 'accent', 'ok', 'warn', 'bad']) {
        least(name, ground, 4.5)
      }
      for (const name of ['line', 'focus']) least(name, ground, 3)
    }
    least('accent-text', 'accent', 4.5)
    least('text', 'sel', 4.5)
  })
}

const LIGHT = ['light', 'mist']

test('the ring is blue below 50 percent, with contrast in every theme', () => {
  const css = readFileSync(new URL('themes/accents.css', style), 'utf8')
  const [, light = '', dark = ''] = /light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/.exec(css)!
  for (const file of themes) {
    const ground = pairsOf(readFileSync(new URL(`themes/${file}`, style), 'utf8'))
    const blue = LIGHT.includes(file.replace('.css', '')) ? light : dark
    for (const name of ['bg', 'bg-raised', 'bg-sunken'])
      assert.ok(contrast(blue, ground.get(name)!) >= 4.5, `${name} of ${file}`)
  }
})

/** The values that an accent sets under a theme. */
const accentOf = (css: string, accent: string, theme: string) => {
  const selector = LIGHT.includes(theme)
    ? `[data-accent="${accent}"]:is([data-theme="light"], [data-theme="mist"])`
    : `[data-accent="${accent}"]`
  return pairsOf(css.split(`\n${selector} {`)[1]!.split('}')[0]!)
}

test('each accent has contrast in every theme', () => {
  const css = readFileSync(new URL('themes/accents.css', style), 'utf8')
  // `ink` is the text color on the background, which the themes themselves prove.
  const accents = SETTINGS.accent.choices.filter(accent => accent !== 'theme' && accent !== 'ink')
  const built = withSystemTheme(css)
  for (const accent of accents)
    assert.equal(
      pairsOf(built.split(`[data-accent="${accent}"][data-theme="system"] {`)[1]!.split('}')[0]!),
      accentOf(css, accent, 'light'),
    )
  for (const file of themes) {
    const theme = file.replace('.css', '')
    const ground = pairsOf(readFileSync(new URL(`themes/${file}`, style), 'utf8'))
    for (const accent of accents) {
      const values = accentOf(css, accent, theme)
      const color = values.get('accent')!
      assert.is(values.get('focus'), color)
      for (const name of ['bg', 'bg-raised', 'bg-sunken']) {
        const is = contrast(color, ground.get(name)!)
        assert.ok(is >= 4.5, `${accent} on ${name} of ${theme}: ${is.toFixed(2)}`)
      }
      const is = contrast(values.get('accent-text')!, color)
      assert.ok(is >= 4.5, `text on ${accent} in ${theme}: ${is.toFixed(2)}`)
    }
  }
})

test('every theme and accent that can be chosen has its colors, and the light ones the light scheme', () => {
  assert.equal(
    themes.map(file => file.replace('.css', '')).toSorted(),
    THEMES.filter(name => name !== 'system').toSorted(),
  )
  for (const file of themes) {
    const colors = pairsOf(readFileSync(new URL(`themes/${file}`, style), 'utf8'))
    const isLight = luminance(colors.get('bg')!) > 0.5
    assert.is(isLight, LIGHT.includes(file.replace('.css', '')), file)
  }
})

test('`system` has the values of light where the system is light', () => {
  const css = readFileSync(new URL('themes/light.css', style), 'utf8')
  const [own, copy] = withSystemTheme(css).split('@media (prefers-color-scheme: light)')
  assert.equal(pairsOf(copy!), pairsOf(own!))
  assert.is(pairsOf(copy!).size, ROLES.split(' ').length)
  assert.match(copy!, /^ \{\s*\[data-theme="system"\] \{/)
})

test('no style sheet sets a color outside of the themes', () => {
  for (const file of readdirSync(style).filter(name => name.endsWith('.css'))) {
    const css = readFileSync(new URL(file, style), 'utf8')
    assert.not.match(css, /#[0-9a-fA-F]{3,8}\b(?![^{]*\{)/, file)
  }
})

test('the page has no inline script or style', () => {
  const html = readFileSync(new URL('../index.html', style), 'utf8')
  assert.not.match(html, /<style|style=|<script(?![^>]*src=)/)
  for (const [, url] of html.matchAll(/(?:src|href)="([^"]+)"/g)) {
    assert.ok(url === '/' || !url!.startsWith('/'), url)
  }
})

test('the style sheets that the page names exist', () => {
  const html = readFileSync(new URL('../index.html', style), 'utf8')
  const named = [...html.matchAll(/static\/([\w-]+\.css)/g)].map(([, name]) => name!)
  assert.equal(named, ['main.css', 'lazy.css', 'terminal.css'])
  const places = ['./', '../features/terminal/']
  for (const name of named)
    assert.ok(
      places.some(place => existsSync(new URL(place + name, style))),
      name,
    )
})

const now = new Date(2026, 5, 15, 12).getTime() / 1000

test('formats relative times', () => {
  const ago = (seconds: number) => formatAgo(now - seconds, now, 'en')
  assert.equal([0, 59, 60, 7_200, 200_000].map(ago), ['now', 'now', '1m', '2h', '2d'])
  assert.equal([ago(-5), ago(10 * 86_400), ago(400 * 86_400)], ['now', 'Jun 5', 'May 11, 2025'])
})

test('groups by calendar day, not by hours', () => {
  const at = (day: number, hour: number) =>
    groupOf(new Date(2026, 5, day, hour).getTime() / 1000, now, 'en')
  assert.equal(
    [at(15, 0), at(14, 23), at(14, 0), at(13, 23), at(8, 1), at(7, 23)],
    ['Today', 'Yesterday', 'Yesterday', 'Previous 7 days', 'Previous 7 days', 'Previous 30 days'],
  )
  assert.is(at(-60, 1), 'April 2026')
})

const key = (name: string, held: Partial<KeyboardEvent> = {}) => ({
  key: name,
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  altKey: false,
  ...held,
})

test('formats and matches shortcuts on both platforms', () => {
  assert.is(chordOf(key('k', { metaKey: true }), true), 'mod+k')
  assert.is(chordOf(key('k', { metaKey: true }), false), 'k')
  assert.is(chordOf(key('O', { ctrlKey: true, shiftKey: true }), false), 'mod+shift+o')
  assert.is(chordOf(key('?', { shiftKey: true }), false), '?')
  assert.is(formatKeys('mod+shift+o', true), '⌘⇧O')
  assert.is(formatKeys('mod+shift+o', false), 'Ctrl Shift O')
  const chords = shortcuts
    .flatMap(group => group.shortcuts.filter(one => one.run))
    .map(one => one.keys)
  assert.is(new Set(chords).size, chords.length)
})

test('computes the visible range of any length', () => {
  assert.equal(visibleRange(toOffsets([]), { top: 0, height: 100, overscan: 0 }), {
    from: 0,
    to: 0,
  })
  const offsets = toOffsets(Array.from({ length: 10_000 }, () => 36))
  assert.equal(visibleRange(offsets, { top: 3_600, height: 720, overscan: 0 }), {
    from: 100,
    to: 121,
  })
  assert.equal(visibleRange(offsets, { top: 1e9, height: 720, overscan: 0 }).to, 10_000)
  assert.is(visibleRange(offsets, { top: -50, height: 10, overscan: 0 }).from, 0)
})

test('fills placeholders, plurals and numbers', () => {
  assert.is(t('list.messages', { count: 1 }), '1 message')
  assert.is(t('list.messages', { count: 1_234 }), '1,234 messages')
  assert.is(t('row.menu', { title: '{count}' }), 'Options for “{count}”')
})

test('no message of the base catalog overrides another one', () => {
  const keys = [enApp, enSessions, enChat].flatMap(part => Object.keys(part))
  assert.equal(
    keys.filter((key, at) => keys.indexOf(key) !== at),
    [],
  )
  assert.is(keys.length, Object.keys(en).length)
})

test('sentences are American English with typographic apostrophes', () => {
  const folder = new URL('../strings/', style)
  const wrong = /colour|grey|(?:summar|organ|recogn|custom|author|initial)is|\bcannot\b|n't\b/i
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts'))
    .flatMap(file =>
      readFileSync(new URL(file, folder), 'utf8')
        .split('\n')
        .filter(line => /['"`]/.test(line) && !/^(?:import|\/\*\*|\s*\/\/)/.test(line))
        .filter(line => wrong.test(line))
        .map(line => `${file}: ${line.trim()}`),
    )
  assert.equal(found, [])
})

test.run()
