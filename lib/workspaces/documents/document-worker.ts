/** Worker thread that extracts the text of one document. It is terminated when that takes too long. */
import { parentPort } from 'node:worker_threads'
import { openArchive } from './archive.ts'
import { readOds, readXlsx } from './spreadsheets.ts'
import { readDocx, readEpub, readOdp, readOdt, readPptx } from './text-documents.ts'
import type { DocumentKind, DocumentReply, DocumentRequest, OnPart } from './types.ts'

/** An encrypted Office file is an OLE container, like the binary formats before 2007. */
const OLE = Buffer.from('d0cf11e0a1b11ae1', 'hex')

const extract = async ({ kind, bytes, range }: DocumentRequest, onPart: OnPart): Promise<void> => {
  if (kind === 'pdf') {
    // Large, and needed for this kind only.
    const { readPdf } = await import('./pdf.ts')
    return readPdf(bytes, range, onPart)
  }
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (buffer.subarray(0, OLE.length).equals(OLE))
    throw new Error('The file is protected with a password, or it has the format of before 2007.')
  const archive = await openArchive(buffer)
  const readers: Record<Exclude<DocumentKind, 'pdf'>, () => Promise<void>> = {
    docx: () => readDocx(archive, onPart),
    xlsx: () => readXlsx(archive, range, onPart),
    pptx: () => readPptx(archive, range, onPart),
    odt: () => readOdt(archive, onPart),
    ods: () => readOds(archive, range, onPart),
    odp: () => readOdp(archive, range, onPart),
    epub: () => readEpub(archive, range, onPart),
  }
  return readers[kind]()
}

const send = (reply: DocumentReply): void => parentPort?.postMessage(reply)

parentPort?.once('message', (request: DocumentRequest) => {
  extract(request, (part, total) => send({ part, total })).then(
    () => send({ done: true }),
    error => send({ error: error instanceof Error ? error.message : String(error) }),
  )
})
