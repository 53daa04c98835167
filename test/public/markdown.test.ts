/** Markdown: streaming gives the same result as parsing at once, never throws, and never produces markup from model text. */
import '../_jsx.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Lexer } from 'marked'
import { h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { Blocks } from '../../public/markdown/blocks.ts'
import { completePartial } from '../../public/markdown/complete-partial.ts'
import { lex } from '../../lib/base/markdown/lexer.ts'
import { diagramHeight, drawnHeights } from '../../public/markdown/diagram-size.ts'
import { decodeEntities, safeImage, safeLink } from '../../lib/base/markdown/links.ts'
import { toPlainText } from '../../public/markdown/plain-text.ts'
import { warmUp } from '../../public/markdown/warm-up.ts'

const { Markdown } = await import('../../public/markdown/markdown.tsx')
const draw = (text: string, open = false): string =>
  renderToString(h(Markdown, { text, open, id: 'm1' }))

const markdown = suite('markdown')

const documents: Record<string, string> = {
  everything: `# Title\n\nSome **bold** text with [link][ref] and \`code\`[^1].\n\n- a\n- b\n  - c\n\n- d\n\n1. one\n2. two\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n\n\`\`\`ts\nconst a = 1\n\nconst b = 2\n\`\`\`\n\npara\n***bold*** x\n#tag\n\n> quote\n> more\n\n$$\na^2\n$$\n\nMath $x_1$ costs $5 and $6.\n\n[ref]: http://x.y\n\n[^1]: A note\n  with more\n\nsetext\n---\n\n***\n\n<div>\nhi\n</div>\n\nend *it*`,
  fences:
    '~~~\n```\nnot closed here\n```\n~~~\nafter\n\n````md\n```js\nx\n```\n````\n\n    indented\n\n    code\n\nlast\n```',
  lists:
    '- a\n\n  para in a\n\n      code in a\n- [ ] todo\n- [x] done\n\n1) one\n   - deep\n     > quote\n\nplain\n- tight\n* other\n+ third\n\n10. ten\n11. eleven\n',
  html: 'text\n<b>inline</b>\n\n<details>\n<summary>x</summary>\n\ninner\n\n</details>\n\n<!-- a comment\n\nover lines -->\n\nafter\n',
  tables:
    'intro\n| a | b\n|---|---|\n| 1 | 2 | 3 |\n| \\| | `|` |\nnot a row\n\n| only | header |\n\nend',
  windows: 'one\r\n\r\n```\r\ncode\r\n```\r\n\r\n- a\r\n- b\r\n',
  definitions:
    '[a] and [b]\n\n- [a]\n\n[a]: http://a.example\n\n[b]: http://b.example "title"\n\nlast [a]',
}

markdown(
  'where compiling is slow, each pattern of the lexer is compiled in a task of its own',
  async () => {
    const global = globalThis as { document?: unknown }
    const { now } = performance
    const search = RegExp.prototype[Symbol.search]
    const clock = { ms: 0 }
    const tasks: RegExp[][] = [[]]
    global.document = {
      get hidden() {
        tasks.push([])
        return true
      },
    }
    performance.now = () => clock.ms
    RegExp.prototype[Symbol.search] = function (text) {
      clock.ms += 10
      tasks.at(-1)!.push(this)
      return search.call(this, text)
    }
    try {
      await warmUp()
    } finally {
      delete global.document
      performance.now = now
      RegExp.prototype[Symbol.search] = search
    }
    const { block, inline } = Lexer.rules
    for (const pattern of [...Object.values(block.gfm), ...Object.values(inline.gfm)])
      assert.equal(
        tasks.find(task => task.includes(pattern)),
        [pattern],
        pattern.source,
      )
  },
)

for (const [name, text] of Object.entries(documents)) {
  markdown(`every prefix of "${name}" is drawn, and the end equals the whole`, () => {
    const streamed = new Blocks()
    let drawn = streamed.update('', true)
    for (let end = 1; end <= text.length; end++) {
      drawn = streamed.update(text.slice(0, end), true)
      if (end % 5 === 0 && !text.includes('\r')) draw(text.slice(0, end), true)
    }
    drawn = streamed.update(text, false)
    const whole = lex(text.replaceAll('\r\n', '\n')).filter(
      token => token.type !== 'space' && token.type !== 'def',
    )
    assert.equal(JSON.stringify(drawn.map(block => block.token)), JSON.stringify(whole))
  })
}

markdown('restarts on text that is no continuation', () => {
  const blocks = new Blocks()
  blocks.update('one\n\ntwo\n\nthree', true)
  const drawn = blocks.update('other', true)
  assert.is(drawn.length, 1)
  assert.is(drawn[0]?.token.raw, 'other')
})

markdown('closed blocks keep their tokens while text streams in', () => {
  const blocks = new Blocks()
  const first = blocks.update('one\n\ntwo\n\nthree', true)[0]
  assert.is(blocks.update('one\n\ntwo\n\nthree and more', true)[0], first)
})

markdown('a long open fence is not lexed again for each token', () => {
  const blocks = new Blocks()
  let text = '```js\n'
  const { blockTokens } = Lexer.prototype
  let lexed = 0
  Lexer.prototype.blockTokens = function (this: Lexer, ...given: unknown[]) {
    lexed += String(given[0]).length
    return Reflect.apply(blockTokens, this, given)
  }
  try {
    for (let line = 0; line < 2_000; line++) {
      text += 'const a = 1\n'
      blocks.update(text, true)
    }
    assert.is(blocks.update(text, true).length, 1)
  } finally {
    Lexer.prototype.blockTokens = blockTokens
  }
  assert.ok(lexed < text.length, `${lexed} characters of ${text.length}`)
})

markdown('open constructs look like what they will be', () => {
  const cases: [string, RegExp, RegExp?][] = [
    ['some **bold', /<strong>bold<\/strong>/],
    ['some *it', /<em>it<\/em>/],
    ['a `code', /<code[^>]*>code<\/code>/],
    ['see [the docs](https://exa', /see the docs/, /https/],
    ['see [the do', /see the do/, /\[/],
    ['| a | b |', /<table dir="ltr">/],
    ['| a | b |\n|--', /<table dir="ltr">/],
    ['para\n-', /<p dir="auto">para<\/p>/, /<h/],
    ['para **', /<p dir="auto">para ?<\/p>/, /\*/],
    ['**done**', /<strong>done<\/strong>/],
    ['```ts\nconst a', /const a/, /```/],
  ]
  for (const [text, wanted, unwanted] of cases) {
    const html = draw(text, true)
    assert.match(html, wanted, text)
    if (unwanted) assert.not.match(html, unwanted, text)
  }
  assert.is(completePartial('2 * 3 and 4'), '2 * 3 and 4')
  assert.is(completePartial('snake_case_name'), 'snake_case_name')
})

markdown('code shows characters that would reorder or hide its text', () => {
  const marked = /evil⟨U\+202E⟩gnp\.exe\.ts/
  for (const open of [true, false]) {
    assert.match(draw('see `evil\u202egnp.exe.ts`', open), marked)
    assert.match(draw('```ts\nrun("evil\u202egnp.exe.ts")\n```', open), marked)
  }
  // In prose they belong to the language.
  assert.match(draw('\u200fمرحبا', false), /\u200f/)
})

const attacks = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<svg/onload=alert(1)>',
  '<iframe src="javascript:alert(1)"></iframe>',
  '[x](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](java\tscript:alert(1))',
  '[x](&#106;avascript:alert(1))',
  '[x](javascript&colon;alert(1))',
  '[x](data:text/html,<script>alert(1)</script>)',
  '[x](vbscript:msgbox(1))',
  '[x](file:///etc/passwd)',
  '[x](//evil.example)',
  '[x](/relative)',
  '![x](javascript:alert(1))',
  '![x](data:image/svg+xml,<svg onload=alert(1)>)',
  '![x](data:image/svg+xml;base64,PHN2Zz4=)',
  '![x](https://evil.example/pixel.png)',
  '<javascript:alert(1)>',
  '[x]: javascript:alert(1)\n\n[x]',
  '[x](https://a.example"onmouseover="alert(1))',
  '[x](<https://a.example" onclick=alert(1)>)',
  '```html" onload="alert(1)\n<script>alert(1)</script>\n```',
  '`<img src=x onerror=alert(1)>`',
  '| <script>alert(1)</script> |\n|---|\n| <img src=x onerror=alert(1)> |',
  '- <b onclick=alert(1)>x</b>\n- [ ] <script>',
  '$<img src=x onerror=alert(1)>$',
  '$$\n\\href{javascript:alert(1)}{x}\n$$',
  '[^"><script>]: note\n\n[^"><script>]',
  '<style>*{display:none}</style>',
  '<a href="javascript:alert(1)">x</a>',
  '# <math><mi//xlink:href="data:x,<script>alert(1)</script>">',
  '<!--><script>alert(1)</script>-->',
  '\u0000<script>\u0000alert(1)</script>',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  '[__proto__]: https://x.example\n\n[__proto__] [constructor]',
]

/** Tags as the parser would see them; text is escaped, so whatever looks like one is one. */
const tags = (html: string): string[] => html.match(/<[a-z][^>]*>/gi) ?? []

markdown('no attack becomes a script, a handler, a request or an address', () => {
  for (const attack of attacks) {
    for (const html of [draw(attack), draw(attack, true), draw(`> - ${attack}`)]) {
      for (const tag of tags(html)) {
        assert.not.match(tag, /^<(script|iframe|style|object|embed|base|form|link|meta)\b/i, attack)
        assert.not.match(tag.replace(/"[^"]*"/g, '""'), /\son[a-z]+=/i, attack)
        assert.not.match(
          tag,
          /(href|src)="(?!https:\/\/|http:\/\/|mailto:|data:image\/png)/i,
          attack,
        )
        assert.not.match(tag, /^<img/i, attack)
        if (/^<a\b/.test(tag)) assert.match(tag, /rel="noopener noreferrer"/)
      }
    }
  }
})

markdown('the box of a diagram is as high as its source suggests, then as it was drawn', () => {
  const chain = Array.from({ length: 17 }, (_, i) => `n${i} --> n${i + 1}`).join('\n')
  const heights: Record<string, number> = {
    // One row, made smaller to fit into the column.
    'graph LR; A-->B; B-->C': 112,
    [`graph LR\n${chain}`]: 112,
    // Two and three rows.
    '---\ntitle: x\n---\n%% a comment\nflowchart RL\n  a[One] --> b\n  b --> c & d': 206,
    'graph LR; A-->B; A-->C; A -- no --> D': 310,
    // Levels below each other.
    'graph TD; A-->B; B-->C': 310,
    [`graph TD\n${chain}`]: 480,
    'sequenceDiagram\n A->>B: one\n B->>A: two': 274,
    '': 288,
  }
  for (const [source, height] of Object.entries(heights))
    assert.equal([source, diagramHeight(source)], [source, height])
  drawnHeights.set('', 130)
  assert.is(diagramHeight(''), 130)
  drawnHeights.clear()
})

markdown('addresses', () => {
  assert.is(safeLink('https://a.example/x?y=1&amp;z=2'), 'https://a.example/x?y=1&z=2')
  assert.is(safeLink('mailto:a@b.example'), 'mailto:a@b.example')
  assert.is(safeLink(' javascript:x'), null)
  assert.is(safeLink('https:'), null)
  assert.is(safeImage('data:image/png;base64,AAAA')?.kind, 'data')
  assert.is(safeImage('data:image/svg+xml;base64,AAAA'), null)
  assert.is(safeImage('https://a.example/x.png')?.kind, 'remote')
  assert.is(
    decodeEntities('a &amp; b &#60; &#x3e; &copy; &unknown; &#xd800;'),
    'a & b < > © &unknown; \ufffd',
  )
})

markdown('text nested overscan reason is shown as text', () => {
  const deep = '>'.repeat(20_000)
  assert.type(draw(deep), 'string')
  assert.ok(draw('['.repeat(5000)).length > 5000)
})

markdown('footnotes lead to their notes', () => {
  const html = draw('See[^a] and[^missing].\n\n[^a]: The note.')
  assert.match(html, /Footnote 1/)
  assert.match(html, /m1-note-a/)
  assert.match(html, /\[\^missing\]/)
})

markdown('money is not maths', () => {
  assert.not.match(draw('It costs $5 and then $6 more.'), /md-math/)
  assert.match(draw('So $x^2$ it is.'), /md-math/)
})

markdown('plain text for the clipboard', () => {
  assert.is(
    toPlainText('# A\n\n**b** [c](http://d.example)\n\n- x\n- y\n\n```\ncode\n```'),
    'A\n\nb c\n\n• x\n• y\n\ncode',
  )
})

/** Beginnings without an end, over and over: each once cost a look at all that follows. */
const HOSTILE: readonly string[] = [
  '[',
  '![',
  '[](',
  '[a](',
  '[[a]]',
  '![a][',
  '[^a',
  '[x](<',
  '[x](y "',
  '*',
  '*a ',
  '_a ',
  '**a',
  'a**b',
  '*_',
  '~a',
  '` ',
  '`a``',
  '$a',
  '$$a\n',
  '\\(',
  '<',
  '<a ',
  '<!--',
  '&',
  '|a',
  'MEDIA:/a ',
  'http://a.',
  'a@',
  'www.',
  '"a',
  '\\',
  ' \n',
  '```\n',
  '* * ',
  'a\n=',
]

markdown('hostile text comes to its end, and none of it is lost', () => {
  for (const piece of HOSTILE) assert.ok(lex(piece.repeat(40_000)).length > 0)
  const shown = renderToString(h(Markdown, { text: '['.repeat(40_000), id: 'x' }))
  assert.is(shown.split('[').length - 1, 40_000)
})

markdown.run()
