/** HTML for the sandboxed frame: CSP first, nothing runs or loads, linear time. */
import { parse } from 'parse5'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { frameDocument } from '../../../public/features/workspace/html-frame.ts'

const shapes = suite('HTML frames')

shapes('removes what runs or loads; styles get the nonce', () => {
  const html = frameDocument(
    '<!doctype html><head><meta http-equiv="refresh" content="0"><base href="//x"><link rel=stylesheet href=//x>' +
      '<style>p{}</style><script>alert(1)</script></head><p class="a" style="color: &quot;red&quot;" title="style=\'x\'">x</p><script>',
    'N0',
  )
  assert.ok(
    html.startsWith('<!doctype html><html><head><meta http-equiv="Content-Security-Policy"'),
  )
  assert.not.match(html, /<script|<link|<base|refresh/)
  assert.match(html, /<style nonce="N0">p\{\}/)
  assert.match(html, /<p class="a" title="style='x'" data-s0="">/)
  assert.match(html, /\[data-s0\]\{color: "red"\}/)
})

/** Ways to bring something before the policy, or to make the reader of it slow. */
const AWKWARD: Record<string, string> = {
  'markup before a late doctype': '<img src=https://far.example/1><!doctype html><p>x',
  'a comment that ends early': '<!--><img src=https://far.example/2><!doctype html>-->',
  'a comment that never ends': '<!-- <img src=https://far.example/3> <!doctype html>',
  'comments in front': '<!-- a --!><!-- b --><!doctype html><!-- c --><html><!-- d --><head>',
  'a head in an attribute': '<html title="><head><img src=https://far.example/4>"><head></head>x',
  'a body that begins first': 'text<head><meta http-equiv=refresh content="0;url=//x"></head>',
  'plain text to the end': '<plaintext><img src=https://far.example/5>',
  'foreign elements': '<svg><script href=https://far.example/6 /><style><img src=x></style></svg>',
  'math that breaks out':
    '<math><mtext><table><mglyph><style><!--</style><img src=https://far.example/7>',
  'a template': '<template><script>1</script><p style="color:red">x</p></template>',
  'a frameset': '<frameset><frame src=https://far.example/8></frameset>',
  'a doctype with quotes': '<!doctype html "><img src=https://far.example/9>',
  'no tag at all': 'just words',
  nothing: '',
}

for (const [name, text] of Object.entries(AWKWARD))
  shapes(`the policy comes first – ${name}`, () => {
    const html = frameDocument(text, 'N0')
    // Parsed again, the policy is the first element of the head.
    const again = parse(html)
    const root = again.childNodes.find(node => node.nodeName === 'html') as {
      childNodes: {
        nodeName: string
        childNodes: { nodeName: string; attrs?: { name: string }[] }[]
      }[]
    }
    assert.is(root.childNodes[0]?.nodeName, 'head')
    assert.is(root.childNodes[0]?.childNodes[0]?.nodeName, 'meta')
    assert.is(root.childNodes[0]?.childNodes[0]?.attrs?.[0]?.name, 'http-equiv')
    assert.equal(
      again.childNodes.filter(node => node.nodeName !== '#documentType').map(node => node.nodeName),
      ['html'],
    )
    assert.not.match(html, /<(?:script|link|base|i?frame|object|embed)\b/i)
  })

shapes('hostile text takes linear time', () => {
  // In quadratic time, each would take longer than the runner waits.
  const length = 300_000
  for (const text of [
    `<a ${"x='".repeat(length)}`,
    `<a ${'" \' '.repeat(length)}`,
    '<!--'.repeat(length),
    '<!-- -->'.repeat(length),
    `<p ${'style=x '.repeat(length)}>`,
    '<div>'.repeat(length),
    '<b><p>'.repeat(500),
  ])
    frameDocument(text, 'N0')
})

shapes.run()
