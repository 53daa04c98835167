/** Files in old encodings are read as what they are, or said to be unknown; an edit keeps every other byte. */
import { spawnSync } from 'node:child_process'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { encodeLegacy, LEGACY, type LegacyEncoding } from '../../../lib/store/legacy-encodings.ts'
import { readTextBytes, splice } from '../../../lib/store/text-bytes.ts'

const test = suite('legacy encodings')

const TEXTS: Readonly<Record<LegacyEncoding, readonly string[]>> = {
  GBK: [
    '# 这是一个测试文件，用来说明我们的问题。\nname = "中国"\n',
    '// 计算两个数的和\nint add(int a, int b) { return a + b; } // 返回结果\n',
    '<title>欢迎来到我们的网站</title>\r\n<p>请输入用户名和密码</p>\r\n',
  ],
  Big5: ['這是一個測試檔案，用來說明我們的問題。\n', '歡迎來到我們的網站，請輸入您的名稱\r\n'],
  Shift_JIS: [
    '# これは日本語のテストファイルです。\nname = "日本"\n',
    '// 二つの数の合計を計算する\nreturn a + b;\n',
    'エラー: ファイルが見つかりません\r\n',
  ],
  'EUC-JP': [
    '# これは日本語のテストファイルです。\nname = "日本"\n',
    '設定ファイルを読み込みます\n',
  ],
  'EUC-KR': [
    '# 이것은 한국어로 된 시험 파일입니다.\nname = "한국"\n',
    '// 두 수의 합을 계산하는 함수\n',
  ],
  'Windows-1251': [
    '# Это проверка русского текста\nname = "Москва"\n',
    'Привет, мир! Как дела сегодня?\n',
  ],
  'KOI8-R': [
    '# Это проверка русского текста\nname = "Москва"\n',
    'Привет, мир! Как дела сегодня?\n',
  ],
}

for (const encoding of LEGACY)
  for (const text of TEXTS[encoding])
    test(`${encoding}: ${text.slice(0, 20).trim()}`, () => {
      const bytes = encodeLegacy(text, encoding)
      if (!bytes) throw new Error('The test has a character that the encoding lacks.')
      const file = readTextBytes(bytes)
      assert.equal([file?.encoding, file?.text], [encoding, text])
      if (!file) return
      const start = file.text.indexOf('\n')
      const edited = splice(file, [{ start, end: start, text: text.slice(-4, -1) }])
      const added = encodeLegacy(text.slice(-4, -1), encoding) ?? Buffer.alloc(0)
      const at = bytes.indexOf(10)
      assert.ok(edited.equals(Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at)])))
      assert.throws(() => splice(file, [{ start: 0, end: 0, text: '🙂' }]), /🙂/)
    })

const latin = (text: string) => Buffer.from(text, 'latin1')

const WESTERN = [
  'größe = "über"\n',
  'Le café est fermé, la créée à Noël\n',
  'El niño comió en España; ¿qué pasó?\n',
  'Größenänderung ß Ä Ö Ü: Fußgängerübergänge\n',
  'naïve résumé, coöperate, Ærøskøbing, Åland\n',
  'não há informações sobre a configuração\n',
  '\x93quoted\x94 \x96 dash \x80 5\n',
]
for (const text of WESTERN)
  test(`Western: ${text.trim()}`, () =>
    assert.is(readTextBytes(latin(text))?.encoding, 'Windows-1252'))

test('what is not clear is unknown, never Western letters that nobody wrote', () => {
  for (const hex of [
    // Greek, Thai, Hebrew, and a few characters of Chinese.
    'cae1ebe7ecddf1e120eafcf3ece5',
    'cac7d1cab4d5e2c5a120b7d5e8',
    'f9ece5ed20f2e5ece5ed',
  ]) {
    const file = readTextBytes(Buffer.from(hex, 'hex'))
    assert.is.not(file?.encoding, 'Windows-1252', hex)
  }
})

test('an encoding that is none of these is not taken for one of them', () => {
  for (const [name, hex] of Object.entries({
    Greek: 'bcebefe920efe920dcede8f1f9f0efe920e3e5edede9effdedf4e1e920e5ebe5fde8e5f1efe920eae1e9',
    Hebrew: 'ebec20e1f0e920e4e0e3ed20f0e5ece3e520e1f0e920e7e5f8e9ef20e5f9e5e5e9ed20e1f2f8ebed',
    Thai: 'cac7d1cab4d5aad2c7e2c5a120b9d5e8a4d7cda2e9cda4c7d2c1',
    'German of DOS': '477294e16520668172204d816c6c6572',
  }))
    assert.is(readTextBytes(Buffer.from(hex, 'hex'))?.encoding, 'unknown', name)
  assert.is(readTextBytes(latin('é à\n'))?.encoding, 'Windows-1252')
})

test('capital letters, and text behind much ASCII', () => {
  const capitals = 'ВНИМАНИЕ! НЕ УДАЛЯТЬ ЭТОТ ФАЙЛ\n'
  for (const encoding of ['Windows-1251', 'KOI8-R'] as const) {
    const file = readTextBytes(encodeLegacy(capitals, encoding) ?? Buffer.alloc(0))
    assert.equal([file?.encoding, file?.text], [encoding, capitals])
  }
  const late = `${'1,abc,def\n'.repeat(9_000)}2,山田太郎,東京都\n${'3,abc\n'.repeat(9_000)}4,鈴木花子,大阪府\n`
  const file = readTextBytes(encodeLegacy(late, 'Shift_JIS') ?? Buffer.alloc(0))
  assert.equal([file?.encoding, file?.text === late], ['Shift_JIS', true])
})

test('UTF-16 without a mark is text, binary files are not', () => {
  for (const text of [
    'Windows Registry Editor\r\n\r\n[HKEY]\r\n',
    'plain ascii text\n',
    '这是 中文 文件\n',
    'größe über\n',
  ])
    for (const [encoding, bytes] of [
      ['UTF-16 LE', Buffer.from(text, 'utf16le')],
      ['UTF-16 BE', Buffer.from(text, 'utf16le').swap16()],
    ] as const) {
      const file = readTextBytes(bytes)
      assert.equal([file?.encoding, file?.text, file?.bom], [encoding, text, 0])
      if (file) assert.ok(splice(file, []).equals(bytes))
    }
  for (const bytes of [
    Buffer.from([1, 0, 2, 0, 3, 0, 4, 0]),
    Buffer.from([0, 1, 0, 2]),
    Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0, 0, 0]),
    Buffer.alloc(100),
    Buffer.from(new Float64Array([1, 2, 3.5]).buffer),
    Buffer.from(new Int32Array([65, 66, 67]).buffer),
    Buffer.from(new Uint16Array([1, 2, 3, 40, 500]).buffer),
  ])
    assert.is(readTextBytes(bytes), null, bytes.toString('hex'))
})

test('the bytes are those that iconv writes', () => {
  const names = {
    GBK: 'GBK',
    Big5: 'BIG5',
    Shift_JIS: 'SHIFT_JIS',
    'EUC-JP': 'EUC-JP',
    'EUC-KR': 'EUC-KR',
    'Windows-1251': 'CP1251',
    'KOI8-R': 'KOI8-R',
  }
  for (const encoding of LEGACY) {
    const text = TEXTS[encoding].join('')
    const { status, stdout } = spawnSync('iconv', ['-f', 'UTF-8', '-t', names[encoding]], {
      input: text,
    })
    if (status !== 0) continue
    assert.ok(encodeLegacy(text, encoding)?.equals(stdout), encoding)
  }
})

test.run()
