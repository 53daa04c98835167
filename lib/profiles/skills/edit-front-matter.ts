/** Changes keys of the front matter, and the text after it, in a Markdown file that other programs may also write. */
import { invalid } from '../../errors.ts'
import { editYaml } from '../../store/yaml-file.ts'
import { parseFrontMatter, splitFrontMatter } from './front-matter.ts'

export type FrontMatterEdit = {
  /** Undefined removes a key. */
  values: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Absent: the text stays. */
  body?: string | undefined
}

/**
 * The new text, with LF line endings and without byte order mark. All other keys, comments, and lines stay. Throws a
 * UserError when the front matter cannot be read: the other keys would be lost.
 */
export const editFrontMatter = (given: string, { values, body }: FrontMatterEdit): string => {
  const { head, body: oldBody } = splitFrontMatter(given)
  const { problem } = parseFrontMatter(given)
  if (head !== null && problem !== null)
    throw invalid(`The file was not changed. ${problem}`, {
      code: 'front_matter_invalid',
      values: { problem },
    })
  let yaml = head === null || head === '' ? '' : `${head}\n`
  for (const [key, value] of Object.entries(values)) yaml = editYaml(yaml, [[key], value])
  const text = body ?? oldBody
  if (yaml.trim() === '') return text
  // A blank line after new front matter only: an existing file keeps its own.
  const gap = head === null && !text.startsWith('\n') ? '\n' : ''
  return `---\n${yaml.endsWith('\n') ? yaml : `${yaml}\n`}---\n${gap}${text}`
}
