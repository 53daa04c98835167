/** Output files of runs: `cron/output/<job id>/<YYYY-MM-DD_HH-MM-SS>.md`, in the host agent's format. */
import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isDirectory } from '../base/directories.ts'
import { oneLine } from '../base/shorten.ts'
import { JOB_ID } from '../schema/cron.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { toIso, toStamp } from '../base/time-zone.ts'
import { readWholeText } from '../store/read-text.ts'

export type Report = {
  id: string
  name: string
  schedule: string
  prompt: string
  /** Commands that were denied because the run was unattended. */
  denied: readonly string[]
  result: { response: string } | { error: string }
}

/** The Markdown document; clients show what follows the line `## Response`. */
const formatReport = (report: Report, at: number, zone: string): string => {
  const hasFailed = 'error' in report.result
  const [head, body] =
    'error' in report.result
      ? ['## Error', `\`\`\`\n${report.result.error.replaceAll('```', "'''")}\n\`\`\``]
      : ['## Response', report.result.response.trim() || '(no answer)']
  return [
    `# Cron Job: ${oneLine(report.name)}${hasFailed ? ' (FAILED)' : ''}`,
    [
      `**Job ID:** ${report.id}`,
      `**Run Time:** ${toIso(at, zone).slice(0, 19).replace('T', ' ')}`,
      `**Schedule:** ${oneLine(report.schedule)}`,
    ].join('\n'),
    `## Prompt\n\n${report.prompt.trim()}`,
    ...(report.denied.length > 0
      ? [`## Denied\n\n${report.denied.map(line => `- ${oneLine(line)}`).join('\n')}`]
      : []),
    `${head}\n\n${body}\n`,
  ].join('\n\n')
}

/** The directory of a job's files; undefined for an id that is not a plain name. */
const folder = (dir: string, id: string): string | undefined =>
  JOB_ID.test(id) ? join(dir, 'output', id) : undefined

/** Writes one file and returns its name, which is unique even for two runs in one second. */
export const writeReport = (
  dir: string,
  report: Report,
  at: number,
  zone: string,
): string | null => {
  const folderPath = folder(dir, report.id)
  if (!folderPath) return null
  mkdirSync(folderPath, { recursive: true, mode: 0o700 })
  let free = at
  while (statSync(join(folderPath, `${toStamp(free, zone)}.md`), { throwIfNoEntry: false }))
    free += 1_000
  const filename = `${toStamp(free, zone)}.md`
  writeAtomic(join(folderPath, filename), formatReport(report, at, zone))
  return filename
}

const MAX_SHOWN_CHARS = 8_000

/** The newest files, each truncated for display. Only regular files are read. */
export const readReports = (
  dir: string,
  id: string,
  limit: number,
): { filename: string; content: string }[] => {
  const folderPath = folder(dir, id)
  if (!folderPath || !isDirectory(folderPath)) return []
  return readdirSync(folderPath, { withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.md'))
    .map(entry => entry.name)
    .toSorted()
    .reverse()
    .slice(0, limit)
    .map(filename => ({
      filename,
      content: readWholeText(join(folderPath, filename)).slice(0, MAX_SHOWN_CHARS),
    }))
}
