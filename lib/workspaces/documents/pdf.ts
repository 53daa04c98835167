/** Text of PDF files, page by page, with PDF.js. */
import { getDocument, type PDFDocumentProxy, VerbosityLevel } from 'unpdf/pdfjs'
import type { OnPart, Range } from './types.ts'

/** Calls back for each page of the range; throws a sentence for a protected or damaged file. */
export const readPdf = async (bytes: Uint8Array, range: Range, onPart: OnPart): Promise<void> => {
  const pdf = await open(bytes)
  for (let number = range.from; number <= Math.min(range.to, pdf.numPages); number++)
    onPart({ title: `page ${number}`, text: await pageText(pdf, number) }, pdf.numPages)
}

/** Nothing of a PDF is run, drawn, or fetched. */
const OPTIONS = {
  isEvalSupported: false,
  disableFontFace: true,
  useSystemFonts: true,
  stopAtErrors: false,
  verbosity: VerbosityLevel.ERRORS,
}

const open = async (bytes: Uint8Array): Promise<PDFDocumentProxy> => {
  try {
    return await getDocument({ data: bytes, ...OPTIONS }).promise
  } catch (error) {
    // The classes of the errors differ between builds of PDF.js, their names do not.
    const { name } = error as Error
    if (name === 'PasswordException') throw new Error('The PDF is protected with a password.')
    throw new Error('The PDF is damaged.', { cause: error })
  }
}

const pageText = async (pdf: PDFDocumentProxy, number: number): Promise<string> => {
  const page = await pdf.getPage(number)
  const { items } = await page.getTextContent()
  const text = items
    .map(item => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : ''))
    .join('')
  page.cleanup()
  return text.trim()
}
