/** Markdown as people write it: bare addresses, emphasis without spaces, dollars, and plain HTML tags. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { addressIn } from '../../../lib/base/markdown/cjk.ts'
import { lex, type Token } from '../../../lib/base/markdown/lexer.ts'
import { markdownHtml } from '../../../lib/sessions/shares/markdown-html.ts'

const test = suite('markdown')

const all = (tokens: readonly Token[] = []): Token[] =>
  tokens.flatMap(token => [token, ...all('tokens' in token ? token.tokens : [])])
const linksIn = (text: string): string[] =>
  all(lex(text)).flatMap(token => (token.type === 'link' ? [token.href] : []))

for (const [text, ...links] of [
  ['https://example.com。完', 'https://example.com'],
  ['见https://example.com，好', 'https://example.com'],
  [
    '（https://a.example/x）和【https://b.example/y】',
    'https://a.example/x',
    'https://b.example/y',
  ],
  ['「https://a.example/x」', 'https://a.example/x'],
  ['『https://a.example/?q=1』、', 'https://a.example/?q=1'],
  ['https://a.example/路径', 'https://a.example/'],
  ['https://a.example:8080。完', 'https://a.example:8080'],
  ['https://a.exampleです', 'https://a.example'],
  ['https://a.example/xです。', 'https://a.example/x'],
  ['https://a.example입니다', 'https://a.example'],
  ['https://a.example/x에서', 'https://a.example/x'],
  ['https://a.example！', 'https://a.example'],
  ['https://a.example/x？y', 'https://a.example/x'],
  ['https://a.example：说明', 'https://a.example'],
  ['https://a.example；', 'https://a.example'],
  ['https://a.example/x…', 'https://a.example/x'],
  ['“https://a.example”', 'https://a.example'],
  ['«https://a.example/x»', 'https://a.example/x'],
  ['https://a.example/x—and', 'https://a.example/x'],
  ['https://a.exampleпривет', 'https://a.example'],
  ['https://a.example،', 'https://a.example'],
  ['https://a.example।', 'https://a.example'],
  ['https://a.example/x؟', 'https://a.example/x'],
  ['www.example.com。完', 'http://www.example.com'],
  ['https://user@a.example。evil.example', 'https://user@a.example'],
  // The beginning of an international host is another host.
  ['https://münchen.example/straße', 'https://münchen.example/straße'],
  ['https://www.例え.example/x'],
  ['https://api.пример.рф'],
  // As before.
  ['https://ru.example/wiki/Москва.', 'https://ru.example/wiki/Москва'],
  ['https://a.example/Foo–Bar', 'https://a.example/Foo–Bar'],
  ['https://a.example/x_(y), z', 'https://a.example/x_(y)'],
  ['https://a.example/?a=b&c=d#e.', 'https://a.example/?a=b&c=d#e'],
  ['mail a.b@example.com。', 'mailto:a.b@example.com'],
  ['<https://a.example/路径>', 'https://a.example/路径'],
] as const)
  test(`a bare address ends where the text goes on: ${text}`, () => {
    assert.equal(linksIn(text), links)
    const [first] = links
    if (first && /^https?:/.test(text) && !/[.,]$|\)/.test(text)) assert.is(addressIn(text), first)
  })

for (const [text, html] of [
  ['**重要：**请', '<strong>重要：</strong>请'],
  ['这是**“强调”**文字', '这是<strong>“强调”</strong>文字'],
  ['**「x」**は', '<strong>「x」</strong>は'],
  ['太郎は**「こんにちは」**といった', '太郎は<strong>「こんにちは」</strong>といった'],
  ['**テスト。**テスト', '<strong>テスト。</strong>テスト'],
  ['a*（b）*c', 'a<em>（b）</em>c'],
  ['中文*（斜体）*中文', '中文<em>（斜体）</em>中文'],
  ['**50%**的', '<strong>50%</strong>的'],
  ['涨了**+5%**，', '涨了<strong>+5%</strong>，'],
  ['**(주)**회사', '<strong>(주)</strong>회사'],
  ['이것은 **강조(强调)**입니다', '이것은 <strong>강조(强调)</strong>입니다'],
  ['**a。**b **c。**d', '<strong>a。</strong>b <strong>c。</strong>d'],
  ['***粗斜！***文', '<em><strong>粗斜！</strong></em>文'],
  ['~~「旧」~~新', '<del>「旧」</del>新'],
  ['文~~(旧)~~新', '文<del>(旧)</del>新'],
  ['**`code`**です', '<strong><code dir="ltr">code</code></strong>です'],
  // As before.
  ['snake_case_name', 'snake_case_name'],
  ['a * b * c', 'a * b * c'],
  ['2*3*4', '2<em>3</em>4'],
  ['**bold**text', '<strong>bold</strong>text'],
  ['x **"y"** z', 'x <strong>&quot;y&quot;</strong> z'],
  ['a**"b"**c', 'a**&quot;b&quot;**c'],
  ['~50 and ~60', '~50 and ~60'],
] as const)
  test(`emphasis: ${text}`, () => assert.is(markdownHtml(text), `<p dir="auto">${html}</p>`))

const compact = (text: string): string => markdownHtml(text).replaceAll('\n', '')

const mathIn = (text: string): string[] =>
  all(lex(text)).flatMap(token => (token.type === 'mathInline' ? [token.text] : []))

for (const [text, ...math] of [
  ['export PATH=$HOME/bin:$PATH'],
  ['$20/month or 20$'],
  ['花了$20到30$左右'],
  ['其中$x$表示，$\\alpha$是', 'x', '\\alpha'],
  ['costs $5 and $6'],
  ['between 10$ and 20$.'],
  ['$A_B/$C_D'],
  ['echo ${A}${B}'],
  ['run $HOME/a, then $USER'],
  ['US$30 to US$40'],
  ['$1,000 a year, or 90$'],
  ['$x_1$ and $y$', 'x_1', 'y'],
  ['so $n$.', 'n'],
  ['$2x$, $3$', '2x', '3'],
  ['$5 = 2 + 3$', '5 = 2 + 3'],
  ['$\\alpha$-decay', '\\alpha'],
  ['($a+b$)', 'a+b'],
] as const)
  test(`dollars: ${text}`, () => assert.equal(mathIn(text), math))

for (const [text, html] of [
  ['a<br>b', '<p dir="auto">a<br>b</p>'],
  ['<br/>', '<p dir="auto"><br></p>'],
  ['H<sub>2</sub>O, x<sup>2</sup>', '<p dir="auto">H<sub>2</sub>O, x<sup>2</sup></p>'],
  ['<kbd>Ctrl</kbd>+<kbd>C</kbd>', '<p dir="auto"><kbd>Ctrl</kbd>+<kbd>C</kbd></p>'],
  ['<b>a *b* <i>c</i></b>', '<p dir="auto"><b>a <em>b</em> <i>c</i></b></p>'],
  ['*a<br />b*', '<p dir="auto"><em>a<br>b</em></p>'],
  ['<mark>x', '<p dir="auto">&lt;mark&gt;x</p>'],
  ['x</sub>', '<p dir="auto">x&lt;/sub&gt;</p>'],
  ['<b><i>x</b></i>', '<p dir="auto"><b>&lt;i&gt;x</b>&lt;/i&gt;</p>'],
  ['<b onclick="x">y</b>', '<p dir="auto">&lt;b onclick=&quot;x&quot;&gt;y&lt;/b&gt;</p>'],
  ['<script>x</script>', '<p dir="auto">&lt;script&gt;x&lt;/script&gt;</p>'],
  ['<img src=x onerror=y>', '<p dir="auto">&lt;img src=x onerror=y&gt;</p>'],
  ['`<br>`', '<p dir="auto"><code dir="ltr">&lt;br&gt;</code></p>'],
  [
    '<details>\n<summary>More *x*</summary>\n\n- inner\n\n</details>\n\nafter',
    '<details dir="auto"><summary>More <em>x</em></summary><ul dir="auto"><li>inner</li></ul></details><p dir="auto">after</p>',
  ],
  [
    '<details>\na\n</details>\n<details>b</details> c',
    '<details dir="auto"><p dir="auto">a</p></details><details dir="auto"><p dir="auto">b</p></details><p dir="auto">c</p>',
  ],
  [
    '<details open><summary>a</summary>b</details>',
    '<details dir="auto" open><summary>a</summary><p dir="auto">b</p></details>',
  ],
] as const)
  test(`plain tags: ${text}`, () => assert.is(compact(text), html))

test('plain tags in the cells of a table', () => {
  const html = markdownHtml('| a | b |\n|---|---|\n| 1<br>2 | <sub>x</sub> |')
  assert.ok(html.includes('<td>1<br>2</td><td><sub>x</sub></td>'), html)
})

test('details in details, and without an end', () => {
  const html = compact(
    '<details>\n<summary>a</summary>\n\n<details>\n<summary>b</summary>\n\nx\n\n</details>\n\ny\n\n</details>\n\nz',
  )
  assert.is(html.match(/<details/g)?.length, 2)
  assert.ok(html.endsWith('</details><p dir="auto">z</p>'), html)
  assert.match(markdownHtml('<details>\n<summary>a</summary>\n\nx'), /<\/details>$/)
})

test.run()
