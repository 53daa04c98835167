/** Text of Word, PowerPoint, OpenDocument, and EPUB files. */
import { posix } from 'node:path'
import type { Archive } from './archive.ts'
import type { OnPart, Range } from './types.ts'
import { type Attributes, type Layout, names, readLines, readXml } from './xml.ts'

const missing = (name: string) => new Error(`The file is damaged: it has no ${name}.`)

export const readRequired = async (archive: Archive, name: string): Promise<string> => {
  const text = await archive.read(name)
  if (text === null) throw missing(name)
  return text
}

/** Attributes of all elements with this name, in document order. */
export const attributesOf = (xml: string, element: string): Attributes[] => {
  const list: Attributes[] = []
  readXml(xml, {
    open: (name, attributes) => void (name === element && list.push(attributes)),
  })
  return list
}

/** Targets of the relationships of a part, by id; paths from the root of the archive. */
export const relationsOf = async (
  archive: Archive,
  part: string,
): Promise<Map<string, { target: string; type: string }>> => {
  const { dir, base } = posix.parse(part)
  const xml = (await archive.read(posix.join(dir, '_rels', `${base}.rels`))) ?? ''
  return new Map(
    attributesOf(xml, 'Relationship').map(({ Id = '', Target = '', Type = '' }) => [
      Id,
      {
        target: Target.startsWith('/') ? Target.slice(1) : posix.join(dir, Target),
        type: Type.slice(Type.lastIndexOf('/') + 1),
      },
    ]),
  )
}

export const isIn = ({ from, to }: Range, number: number): boolean => number >= from && number <= to

const heading = (level: number): string => `${'#'.repeat(Math.min(6, Math.max(1, level)))} `

// ── Word ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** ECMA-376 part 1, chapters 17 and 21. `Fallback` repeats what `Choice` holds. */
const WORD: Layout = {
  text: names('t'),
  skip: names('Fallback instrText delText'),
  paragraph: names('p'),
  row: names('tr'),
  cell: names('tc'),
  insert: (name, { 'w:id': id }) => {
    if (name === 'footnoteReference' || name === 'endnoteReference') return `[${id}]`
    return { tab: '\t', br: '\n', cr: '\n', noBreakHyphen: '-' }[name]
  },
  prefix: (name, { 'w:val': value = '' }) => {
    const level = name === 'pStyle' ? /^heading ?(\d)$/i.exec(value)?.[1] : undefined
    if (level !== undefined) return heading(Number(level))
    if (name === 'pStyle' && value === 'Title') return heading(1)
    return name === 'numPr' ? '- ' : undefined
  },
}

export const readDocx = async (archive: Archive, onPart: OnPart): Promise<void> => {
  const main = 'word/document.xml'
  const lines = readLines(await readRequired(archive, main), WORD)
  for (const kind of ['footnotes', 'endnotes', 'comments']) {
    const xml = await archive.read(`word/${kind}.xml`)
    const notes = xml === null ? [] : readLines(xml, WORD)
    if (notes.length > 0) lines.push('', heading(2) + kind, ...notes)
  }
  onPart({ title: '', text: lines.join('\n') }, 1)
}

// ── PowerPoint ──────────────────────────────────────────────────────────────────────────────────────────────────────

const SLIDE: Layout = {
  text: names('t'),
  skip: names('Fallback'),
  paragraph: names('p'),
  row: names('tr'),
  cell: names('tc'),
  insert: name => (name === 'br' ? '\n' : undefined),
  prefix: name => (name === 'buChar' || name === 'buAutoNum' ? '- ' : undefined),
}

export const readPptx = async (archive: Archive, range: Range, onPart: OnPart): Promise<void> => {
  const main = 'ppt/presentation.xml'
  const relations = await relationsOf(archive, main)
  const slides = attributesOf(await readRequired(archive, main), 'sldId')
  for (const [at, { 'r:id': id = '' }] of slides.entries()) {
    if (!isIn(range, at + 1)) continue
    const path = relations.get(id)?.target ?? ''
    const lines = readLines((await archive.read(path)) ?? '', SLIDE)
    for (const { type, target } of (await relationsOf(archive, path)).values()) {
      if (type !== 'notesSlide') continue
      // The last line is the number of the slide.
      const notes = readLines((await archive.read(target)) ?? '', SLIDE)
      const texts = notes.filter(line => line !== String(at + 1))
      if (texts.length > 0) lines.push('Notes:', ...texts)
    }
    onPart({ title: `slide ${at + 1}`, text: lines.join('\n') }, slides.length)
  }
}

// ── OpenDocument ────────────────────────────────────────────────────────────────────────────────────────────────────

const MAX_SPACES = 100

/** OpenDocument 1.3, parts 5 and 6. */
const ODF: Layout = {
  text: names('p h'),
  skip: names('tracked-changes annotation-end note-citation'),
  paragraph: names('p h'),
  row: names('table-row'),
  cell: names('table-cell'),
  insert: (name, { 'text:c': count = '1' }) => {
    if (name === 's') return ' '.repeat(Math.min(Number(count) || 1, MAX_SPACES))
    return { tab: '\t', 'line-break': '\n' }[name]
  },
  prefix: (name, { 'text:outline-level': level }) => {
    if (name === 'h') return heading(Number(level) || 1)
    return name === 'list-item' ? '- ' : undefined
  },
}

/** Throws for an encrypted file: its parts are no XML. */
export const readOdfContent = async (archive: Archive): Promise<string> => {
  const manifest = (await archive.read('META-INF/manifest.xml')) ?? ''
  if (attributesOf(manifest, 'encryption-data').length > 0)
    throw new Error('The file is protected with a password.')
  return readRequired(archive, 'content.xml')
}

export const readOdt = async (archive: Archive, onPart: OnPart): Promise<void> =>
  onPart({ title: '', text: readLines(await readOdfContent(archive), ODF).join('\n') }, 1)

/** Each slide is an element of its own, read from its start tag to that of the next one. */
export const readOdp = async (archive: Archive, range: Range, onPart: OnPart): Promise<void> => {
  const slides = (await readOdfContent(archive)).split(/(?=<draw:page[ >])/).slice(1)
  for (const [at, xml] of slides.entries())
    if (isIn(range, at + 1))
      onPart({ title: `slide ${at + 1}`, text: readLines(xml, ODF).join('\n') }, slides.length)
}

// ── EPUB ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const XHTML: Layout = {
  skip: names('head script style'),
  paragraph: names('p div h1 h2 h3 h4 h5 h6 li dt dd pre blockquote section table ul ol'),
  row: names('tr'),
  cell: names('td th'),
  insert: name => (name === 'br' ? '\n' : undefined),
  prefix: name => {
    const level = /^h([1-6])$/.exec(name)?.[1]
    if (level !== undefined) return heading(Number(level))
    return name === 'li' ? '- ' : undefined
  },
}

export const readEpub = async (archive: Archive, range: Range, onPart: OnPart): Promise<void> => {
  const container = await readRequired(archive, 'META-INF/container.xml')
  const path = attributesOf(container, 'rootfile')[0]?.['full-path'] ?? ''
  const book = await readRequired(archive, path)
  if ((await archive.read('META-INF/encryption.xml'))?.includes('EncryptedData'))
    throw new Error('The book is protected (DRM).')
  const files = new Map(attributesOf(book, 'item').map(({ id, href }) => [id, href]))
  const chapters = attributesOf(book, 'itemref').flatMap(({ idref }) => files.get(idref) ?? [])
  for (const [at, href] of chapters.entries()) {
    if (!isIn(range, at + 1)) continue
    const name = posix.join(posix.dirname(path), decodeURIComponent(href))
    const text = readLines((await archive.read(name)) ?? '', XHTML).join('\n')
    onPart({ title: `chapter ${at + 1}`, text }, chapters.length)
  }
}
