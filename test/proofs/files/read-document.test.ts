/** read_file of documents. The fixtures come from docx 9.15, exceljs 4.4, pdf-lib 1.17, and pptxgenjs 4.0; the others are made here. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ZipFile } from 'yazl'
import { readDocument } from '../../../lib/workspaces/documents/documents.ts'
import { type Bench, createBench, refused } from '../../lib/agent/tools/_context.ts'

const test = suite('read_file of documents')

let bench: Bench
test.before.each(() => {
  bench = createBench('/var/tmp')
})
test.after.each(() => bench.close())

const fixture = (name: string): Buffer =>
  readFileSync(join(import.meta.dirname, '../../fixtures/documents', name))
const read = (path: string, args: Record<string, unknown> = {}) =>
  bench.json('read_file', { path, ...args })
const readFixture = (name: string, args?: Record<string, unknown>) => {
  bench.write(name, fixture(name))
  return read(name, args)
}
/** Without the line numbers. */
const textOf = ({ content }: { content: string }): string => content.replace(/^ *\d+\|/gm, '')

const zip = async (files: Record<string, string>): Promise<Buffer> => {
  const archive = new ZipFile()
  for (const [name, text] of Object.entries(files)) archive.addBuffer(Buffer.from(text), name)
  archive.end()
  return buffer(archive.outputStream)
}

// ── Rejections ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** The user password is not empty: its digest does not match. */
const PROTECTED_PDF = `%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Kids[]/Count 0>> endobj
3 0 obj <</Filter/Standard/V 1/R 2/P -4/O<${'41'.repeat(32)}>/U<${'42'.repeat(32)}>>> endobj
trailer <</Root 1 0 R/Encrypt 3 0 R/ID[<${'00'.repeat(16)}><${'00'.repeat(16)}>]>>
%%EOF
`
const OLE = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(2_000)])
const ODF_ENCRYPTED =
  '<m:manifest xmlns:m="m"><m:file-entry m:full-path="content.xml"><m:encryption-data/></m:file-entry></m:manifest>'

const REJECTED: [name: string, bytes: () => Buffer | Promise<Buffer>, sentence: string][] = [
  ['a.pdf', () => Buffer.from(PROTECTED_PDF), 'protected with a password'],
  ['b.pdf', () => Buffer.from('%PDF-1.7\n\0 nothing'), 'damaged'],
  ['a.docx', () => OLE, 'protected with a password'],
  ['b.docx', () => fixture('report.docx').subarray(0, 4_000), 'damaged'],
  ['c.docx', () => zip({ 'other.xml': '<a/>' }), 'has no word/document.xml'],
  ['a.odt', () => zip({ 'META-INF/manifest.xml': ODF_ENCRYPTED, 'content.xml': 'x' }), 'password'],
  ['d.docx', () => zip({ 'word/document.xml': ' '.repeat(70_000_000) }), 'too large'],
]
for (const [name, bytes, sentence] of REJECTED)
  test(`rejects ${name}: ${sentence}`, async () => {
    bench.write(name, await bytes())
    assert.match(await refused(read(name)), sentence)
  })

test('rejects a file that unpacks to more than its directory says', async () => {
  const bytes = await zip({ 'word/document.xml': ' '.repeat(5_000_000) })
  // The uncompressed size in the central directory, 24 bytes after its signature.
  bytes.writeUInt32LE(1_000, bytes.indexOf('PK\x01\x02') + 24)
  bench.write('a.docx', bytes)
  assert.match(await refused(read('a.docx')), 'damaged')
})

test('rejects pages that do not exist, and ranges that are none', async () => {
  assert.match(await refused(readFixture('pages.pdf', { pages: '4' })), 'There is no page 4')
  for (const pages of ['0', '3-2', 'all', '-1', '1,2'])
    assert.match(await refused(readFixture('pages.pdf', { pages })), 'a number or a range')
})

test('rejects text in place of a document, and changes to one', async () => {
  const bytes = fixture('report.docx')
  bench.write('report.docx', bytes)
  const write = bench.use('write_file', { path: 'report.docx', content: 'text' })
  assert.match(await refused(write), 'not a text file')
  const change = bench.use('patch', { path: 'report.docx', old_string: 'a', new_string: 'b' })
  assert.match(await refused(change), 'not a text file')
  const add = '*** Begin Patch\n*** Add File: new.xlsx\n+a\n*** End Patch'
  assert.match(await refused(bench.use('patch', { mode: 'patch', patch: add })), 'not a text file')
  assert.equal(readFileSync(join(bench.workspace, 'report.docx')), bytes)
  // Not a kind of document, although every object has a property of this name.
  await bench.use('write_file', { path: 'a.constructor', content: 'text' })
})

test('a stopped read ends the worker', async () => {
  const rows = '<row><c><v>1</v></c></row>'.repeat(500_000)
  bench.write('a.docx', await zip({ 'word/document.xml': `<d>${rows}</d>` }))
  const work = refused(read('a.docx'))
  await new Promise(setImmediate)
  bench.stop(new Error('stopped'))
  assert.match(await work, 'stopped')
})

test('a document that takes too long is rejected', async () => {
  const given = { range: { from: 1, to: Infinity }, signal: new AbortController().signal }
  const work = readDocument(fixture('pages.pdf'), 'pdf', given, 1)
  assert.match(await refused(work), 'took longer than')
})

// ── Formats ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test('a PDF, page by page', async () => {
  const all = await readFixture('pages.pdf')
  assert.equal([all.format, all.pages, all.truncated], ['pdf', 3, false])
  assert.match(all.note, 'patch and write_file cannot')
  assert.match(
    textOf(all),
    '--- page 1 ---\nPage 1 says hello\nsecond line of page 1\ncafé\n--- page 2 ---',
  )
  assert.is(all.file_size, statSync(join(bench.workspace, 'pages.pdf')).size)
  const two = await read('pages.pdf', { pages: '2-' })
  assert.equal([two.pages, textOf(two).split('\n')[0]], [3, '--- page 2 ---'])
  assert.not.match(textOf(two), 'Page 1')
  const lines = await read('pages.pdf', { offset: 5, limit: 2 })
  assert.is(lines.content, '  5|--- page 2 ---\n  6|Page 2 says hello')
  assert.match(lines.hint, 'offset=7')
})

test('a scanned PDF says that it holds no text', async () => {
  const scan = await readFixture('scan.pdf')
  assert.equal([scan.content, scan.pages], ['', 1])
  assert.match(scan.note, 'may be images')
})

test('a Word file with headings, lists, breaks, a table, and footnotes', async () => {
  assert.is(
    textOf(await readFixture('report.docx')),
    [
      '# Quarterly report',
      'Revenue rose by 12 % & costs fell <slightly>.[1]',
      '- first point',
      '- second point',
      'before',
      'after\tend',
      'Region | Größe',
      'North | 42',
      'The end.',
      '',
      '## footnotes',
      'A footnote.',
    ].join('\n'),
  )
})

test('an Excel file with dates, formulas, and hidden sheets', async () => {
  const table = await readFixture('table.xlsx')
  assert.equal([table.format, table.sheets], ['xlsx', 3])
  assert.is(
    textOf(table),
    [
      '--- sheet 1: Sales ---',
      'row\tA\tB\tC\tD',
      '1\tItem\tPrice\tSold\tPaid',
      '2\tApple & pear\t1.5\t2026-02-03\tTRUE',
      '5\trich text\t3\t2026-02-03 14:30:00\t#N/A',
      '6\t\t0.25',
      '--- sheet 2: Hidden (hidden) ---',
      'row\tA',
      '1\tsecret plan',
      '--- sheet 3: Empty ---',
      '(empty)',
    ].join('\n'),
  )
})

test('what of a sheet is left out is said', async () => {
  const sheet = (cells: string) =>
    zip({
      'xl/workbook.xml':
        '<workbook xmlns:r="r"><sheets><sheet name="One" r:id="a"/></sheets></workbook>',
      'xl/_rels/workbook.xml.rels':
        '<Relationships><Relationship Id="a" Type="t/worksheet" Target="worksheets/1.xml"/></Relationships>',
      'xl/worksheets/1.xml': `<worksheet><sheetData>${cells}</sheetData></worksheet>`,
    })
  const far = '<row r="1048576"><c r="XFD1048576"><v>7</v></c></row>'
  bench.write('far.xlsx', await sheet(far))
  assert.match(textOf(await read('far.xlsx')).split('\n')[1] ?? '', /beyond column ALL/)
  bench.write('both.xlsx', await sheet(`<row r="1"><c r="A1"><v>1</v></c></row>${far}`))
  const lines = textOf(await read('both.xlsx')).split('\n')
  assert.equal(lines.slice(1, 3), ['row\tA', '1\t1'])
  assert.match(lines[3] ?? '', /left out/)
  bench.write('none.xlsx', await sheet(''))
  assert.is(textOf(await read('none.xlsx')).split('\n')[1], '(empty)')
})

test('a PowerPoint file with tables and notes', async () => {
  const { slides, ...rest } = await readFixture('slides.pptx', { pages: '2' })
  assert.is(slides, 2)
  assert.is(
    textOf(rest as { content: string }),
    '--- slide 2 ---\nSlide 2 title\n- one\n- two\na | b\n1 | 2\nNotes:\nSay this aloud.',
  )
})

const odf = (body: string): string =>
  `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e "expanded"><!ENTITY f SYSTEM "file:///etc/passwd">]><office:document-content xmlns:office="o" xmlns:text="t" xmlns:table="b" xmlns:draw="d"><office:body>${body}</office:body></office:document-content>`

test('OpenDocument text, tables, and slides; entities of a DTD stay as they are', async () => {
  const odt = odf(
    '<text:h text:outline-level="2">Title</text:h><text:p>a<text:s text:c="2"/>b<text:tab/><text:span>c</text:span>&amp;&e;&f;</text:p><text:list><text:list-item><text:p>point</text:p></text:list-item></text:list>',
  )
  bench.write('a.odt', await zip({ mimetype: 'odt', 'content.xml': odt }))
  assert.is(textOf(await read('a.odt')), '## Title\na  b\tc&&e;&f;\n- point')
  const cell = (text: string, attributes = '') =>
    `<table:table-cell ${attributes}><text:p>${text}</text:p></table:table-cell>`
  const many = 'table:number-columns-repeated="1000000"'
  const ods = odf(
    `<table:table table:name="One"><table:table-row>${cell('x')}<table:table-cell table:number-columns-repeated="2"/>${cell('y')}</table:table-row><table:table-row table:number-rows-repeated="1048000"><table:table-cell ${many}/></table:table-row><table:table-row>${cell('z', many)}</table:table-row></table:table><table:table table:name="Two"/>`,
  )
  bench.write('a.ods', await zip({ 'content.xml': ods }))
  const table = await read('a.ods')
  assert.is(table.sheets, 2)
  const rows = textOf(table).split('\n')
  assert.equal([rows[0], rows[2]], ['--- sheet 1: One ---', '1\tx\t\t\ty'])
  assert.match(rows[3] ?? '', /^1048002\tz\tz\t/)
  const odp = odf(
    '<draw:page><text:p>one</text:p></draw:page><draw:page draw:name="2"><text:p>two</text:p></draw:page>',
  )
  bench.write('a.odp', await zip({ 'content.xml': odp }))
  assert.is(textOf(await read('a.odp', { pages: '2' })), '--- slide 2 ---\ntwo')
})

test('an EPUB in reading order', async () => {
  bench.write(
    'a.epub',
    await zip({
      'META-INF/container.xml':
        '<container><rootfiles><rootfile full-path="in/book.opf"/></rootfiles></container>',
      'in/book.opf':
        '<package><manifest><item id="b" href="b%20c.xhtml"/><item id="a" href="a.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/></spine></package>',
      'in/a.xhtml':
        '<html><head><title>no</title><style>p{}</style></head><body><h1>First</h1><p>one\n two</p></body></html>',
      'in/b c.xhtml': '<html><body><ul><li>x</li></ul></body></html>',
    }),
  )
  const book = await read('a.epub')
  assert.is(book.chapters, 2)
  assert.is(textOf(book), '--- chapter 1 ---\n# First\none two\n--- chapter 2 ---\n- x')
})

test('a long paragraph is wrapped, and a page of lines that is too long is cut', async () => {
  const text = 'word '.repeat(100_000)
  bench.write(
    'a.docx',
    await zip({ 'word/document.xml': `<w:p xmlns:w="w"><w:t>${text}</w:t></w:p>` }),
  )
  const first = await read('a.docx')
  assert.ok(first.truncated && first.content.length < 100_001)
  const parts = [textOf(first)]
  for (let offset = first.content.split('\n').length + 1; offset <= first.total_lines; ) {
    const page = await read('a.docx', { offset })
    parts.push(textOf(page))
    offset += page.content.split('\n').length
  }
  assert.is(parts.join('\n').replaceAll('\n', ' '), text.trim())
})

test('a file that only has the name of a document is read as text', async () => {
  bench.write('notes.docx', 'just text\n')
  const { content, format } = await read('notes.docx')
  assert.equal([content, format], ['  1|just text', undefined])
})

// ── Notebooks ───────────────────────────────────────────────────────────────────────────────────────────────────────

const NOTEBOOK = {
  cells: [
    { cell_type: 'markdown', metadata: {}, source: ['# Title\n', 'text'] },
    {
      cell_type: 'code',
      execution_count: 3,
      source: 'print(1)',
      outputs: [
        {
          output_type: 'stream',
          name: 'stdout',
          text: Array.from({ length: 100 }, (_, n) => `line ${n}\n`),
        },
        { output_type: 'display_data', data: { 'image/png': 'AAAA', 'text/plain': ['<Figure>'] } },
        {
          output_type: 'error',
          ename: 'ValueError',
          evalue: 'bad',
          traceback: ['\x1b[31mTraceback\x1b[0m'],
        },
      ],
    },
    { cell_type: 'code', execution_count: null, source: [], outputs: [] },
  ],
  nbformat: 4,
}

test('a notebook: cells with numbers, outputs shortened', async () => {
  bench.write('a.ipynb', JSON.stringify(NOTEBOOK, null, 1))
  const { content, cells, format } = await read('a.ipynb')
  assert.equal([cells, format], [3, 'ipynb'])
  const lines = textOf({ content }).split('\n')
  assert.equal(lines.slice(0, 6), [
    '--- cell 1: markdown ---',
    '# Title',
    'text',
    '--- cell 2: code, run 3 ---',
    'print(1)',
    '--- output of cell 2 ---',
  ])
  assert.ok(lines.includes('[… 60 lines left out …]') && lines.includes('line 99'))
  assert.equal(lines.slice(-6), [
    '<Figure>',
    '[image/png]',
    'ValueError: bad',
    'Traceback',
    '--- cell 3: code ---',
    '',
  ])
})

test('a damaged notebook is read as text, and a notebook can be patched as text', async () => {
  bench.write('a.ipynb', '{"cells": [')
  assert.match((await read('a.ipynb')).content, '1|{"cells": [')
  bench.write('b.ipynb', JSON.stringify(NOTEBOOK, null, 1))
  bench.say('once')
  await bench.use('patch', { path: 'b.ipynb', old_string: 'print(1)', new_string: 'print(2)' })
  assert.match((await read('b.ipynb')).content, 'print(2)')
})

test.run()
