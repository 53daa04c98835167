/** Files as they are in the client's editor: unsaved changes are read, and edits appear in open buffers. */
import { join, relative } from 'node:path'
import type { AgentContext, ClientCapabilities } from '@agentclientprotocol/sdk'
import type { EditorFiles } from '../../agent/tool-services.ts'
import { messageOf } from '../../errors.ts'
import { isInside, realPath } from '../../store/path-within.ts'

/** A client that does not answer must not block a tool; the file on the disk is used then. */
const TIMEOUT_MS = 5_000

/** Undefined when the client offers no files. */
export const editorFiles = ({
  client,
  capabilities,
  sessionId,
  cwd,
  log,
}: {
  client: AgentContext
  capabilities: ClientCapabilities['fs']
  sessionId: string
  cwd: string
  log: (line: string) => void
}): EditorFiles | undefined => {
  const { readTextFile: canRead = false, writeTextFile: canWrite = false } = capabilities ?? {}
  if (!canRead && !canWrite) return undefined
  const root = realPath(cwd)
  /** The editor knows the file by the path of the project, which may lead through a symlink. */
  const pathOf = (fullPath: string): string =>
    isInside(root, fullPath) ? join(cwd, relative(root, fullPath)) : fullPath
  const options = () => ({
    cancellationSignal: AbortSignal.timeout(TIMEOUT_MS),
    stopWaitingOnCancel: true,
  })
  return {
    async read(fullPath) {
      if (!canRead) return null
      try {
        const path = pathOf(fullPath)
        const reply = await client.request('fs/read_text_file', { sessionId, path }, options())
        return reply.content
      } catch {
        // Editors open only text files of their project.
        return null
      }
    },
    async write(fullPath, content) {
      if (!canWrite) return
      try {
        const path = pathOf(fullPath)
        await client.request('fs/write_text_file', { sessionId, path, content }, options())
      } catch (error) {
        // It is on the disk already, where the editor finds it.
        log(`The editor did not take the new text of ${fullPath}: ${messageOf(error)}`)
      }
    },
  }
}
