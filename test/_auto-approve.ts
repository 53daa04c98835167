/** Answers every approval of a session with `once`. */
import type { Client } from './_http.ts'

/** Stops when the returned function is called. */
export const autoApprove = (
  app: Pick<Client, 'events' | 'post'>,
  session_id: string,
  headers: Record<string, string> = {},
): (() => void) => {
  const stream = app.events(`/api/approval/stream?session_id=${session_id}`, { headers })
  const answer = async (): Promise<void> => {
    for await (const { event, data } of stream) {
      const asked = event === 'initial' ? data.pending : event === 'approval' ? data : null
      if (!asked) continue
      const { approval_id } = asked
      await app.post(
        '/api/approval/respond',
        { session_id, approval_id, choice: 'once' },
        { headers },
      )
    }
  }
  void answer()
  return () => stream.close()
}
