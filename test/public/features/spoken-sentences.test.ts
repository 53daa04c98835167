/** What screen readers announce of an answer while it is written. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Announcements } from '../../../public/features/shell/announcements.ts'
import { fakePlatform } from '../_page.ts'
import { SpokenSentences } from '../../../public/features/transcript/spoken-sentences.ts'

const test = suite('spoken sentences')
const WORDS = { code: (lang: string) => `Code, ${lang || 'text'}`, formula: 'Formula' }

/** What is announced when the text arrives in pieces of this size, and that nothing is announced twice or taken back. */
const spokenIn = (text: string, size: number): string[] => {
  const sentences = new SpokenSentences(WORDS)
  const spoken: string[] = []
  for (let end = size; end < text.length; end += size)
    spoken.push(...sentences.update(text.slice(0, end), true))
  return [...spoken, ...sentences.update(text, false)]
}

const TEXTS: Readonly<Record<string, readonly [markdown: string, sentences: readonly string[]]>> = {
  'an abbreviation, a number, a line end, and emphasis': [
    'It costs 3.14 dollars, e.g. 5 or\n6 in **total. Really!** Is [that](https://a.example/b.c) all? Yes',
    ['It costs 3.14 dollars, e.g. 5 or 6 in total.', 'Really!', 'Is that all?', 'Yes'],
  ],
  'a heading below its text, and a rule': [
    'A title\n=======\n\nOne. Two\n\n---\n\nThree.',
    ['A title', 'One.', 'Two', 'Three.'],
  ],
  'code is named once, also in a list': [
    'Run this. Now:\n\n```ts\nconst a = 1. Then\n\nb()\n```\n\nDone.\n\n- First item. More\n- Second:\n\n  ```\n  x\n  ```\n\nEnd of it.',
    [
      'Run this.',
      'Now:',
      'Code, ts',
      'Done.',
      'First item.',
      'More',
      'Second:',
      'Code, text',
      'End of it.',
    ],
  ],
  'a table, a quotation, and a formula': [
    '| Name | Size |\n| --- | --- |\n| a. b | 5 |\n\n> Said. And\n> done.\n\n$$\nx = y. Z\n$$\n\nSo.',
    ['Name, Size', 'a. b, 5', 'Said.', 'And done.', 'Formula', 'So.'],
  ],
  Arabic: [
    'مرحبا بك. هل تريد المتابعة؟ نعم، سأبدأ الآن! هذا هو الملف `a.ts`.\n\nانتهى',
    ['مرحبا بك.', 'هل تريد المتابعة؟', 'نعم، سأبدأ الآن!', 'هذا هو الملف a.ts.', 'انتهى'],
  ],
  Japanese: [
    'こんにちは。ファイルを読みました！次は何をしますか？\n\n- 一つ目。補足\n- 二つ目\n\n```py\nprint("。")\n```\n\n終わりです。',
    [
      'こんにちは。',
      'ファイルを読みました！',
      '次は何をしますか？',
      '一つ目。',
      '補足',
      '二つ目',
      'Code, py',
      '終わりです。',
    ],
  ],
}

for (const [name, [text, sentences]] of Object.entries(TEXTS))
  test(`${name}: the same sentences, once and in order, wherever the text is cut`, () => {
    for (const size of [1, 2, 3, 7, 16, text.length])
      assert.equal(spokenIn(text, size), sentences, `pieces of ${size}`)
  })

test('a sentence is announced before the next one is complete, code when it begins', () => {
  const sentences = new SpokenSentences(WORDS)
  const after = (text: string) => sentences.update(text, true)
  assert.equal(after('First one. '), [])
  assert.equal(after('First one. S'), ['First one.'])
  assert.equal(after('First one. Second\n\n```js\n'), [])
  assert.equal(after('First one. Second\n\n```js\nlet'), ['Second', 'Code, js'])
  assert.equal(after('First one. Second\n\n```js\nlet a. B c. D\n'), [])
})

test('a request that is repeated announces only what is new', () => {
  const sentences = new SpokenSentences(WORDS)
  assert.equal(sentences.update('One. Two. Thr', true), ['One.', 'Two.'])
  assert.equal(sentences.update('', true), [])
  assert.equal(sentences.update('One. Zwei. Three. Fo', true), ['Zwei.', 'Three.'])
  assert.equal(sentences.update('One. Zwei. Three. Four.', false), ['Four.'])
})

test('the same text is announced twice, and each is removed later', async () => {
  const { clock, platform } = fakePlatform()
  const { list, announce } = new Announcements(platform)
  announce('Finished')
  await clock.advance(4_000)
  announce('Finished')
  assert.equal(
    list.value.map(({ text }) => text),
    ['Finished', 'Finished'],
  )
  await clock.advance(4_000)
  assert.is(list.value.length, 1)
  await clock.advance(4_000)
  assert.is(list.value.length, 0)
})

test.run()
