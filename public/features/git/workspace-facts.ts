/** What the server knows about the workspace of the open chat, or of the one that the first message will create. */
import type { App } from '../../app.ts'
import type { Api } from '../../../router.ts'

export type WorkspaceFacts = Api['GET /api/workspaces/facts']['output']

/** Rejects when there is no workspace, or when it can't be read. */
export const workspaceFacts = async ({
  shell: { api },
  chat: {
    transcript: chat,
    choices: { choice },
  },
  workspaces,
}: App): Promise<WorkspaceFacts> => {
  const own = chat.sessionId.value ? chat.details.value?.workspace : choice.value.workspace
  return api('GET /api/workspaces/facts', { path: own || workspaces.last.value })
}
