/** Uploads a file with progress events, which `fetch` doesn't offer. */
import { ACCOUNT_HEADER } from '../lib/base/page-headers.ts'
import { asObject } from '../lib/base/json.ts'
import { ApiError, toApiError, urlOf } from './api.ts'

export type Uploaded = { filename: string; path: string; size: number }
export type UploadOptions = {
  /** Absent: of an import. */
  sessionId?: string
  /** Default: into the workspace of the session. */
  to?: 'api/upload' | 'api/import'
  file: Blob
  name: string
  /** Workspace directory; the root when absent. */
  directory?: string
  /** A picture that is kept with the chat, not in its workspace. */
  keep?: 'chat' | undefined
  onProgress?: (sentBytes: number) => void
  signal?: AbortSignal
}
export type Upload = (options: UploadOptions) => Promise<Uploaded>

export type UploadTransport = {
  request: () => XMLHttpRequest
  base: string
  account: string
  signIn: () => Promise<void>
  unreachable: () => string
}

const bodyOf = (request: XMLHttpRequest): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(request.responseText)
    return asObject(value)
  } catch {
    // A proxy may reply with its own page; only the status is usable.
    return {}
  }
}

export const createUpload = (transport: UploadTransport) => {
  const { request: open, base, account, signIn, unreachable } = transport
  const send = (options: UploadOptions): Promise<XMLHttpRequest> =>
    new Promise((resolve, reject) => {
      const {
        sessionId,
        file,
        name,
        directory,
        keep,
        onProgress,
        signal,
        to = 'api/upload',
      } = options
      const form = new FormData()
      // Fields come before the file, because the server parses the stream in order.
      if (sessionId !== undefined) form.append('session_id', sessionId)
      if (directory) form.append('path', directory)
      if (keep) form.append('keep', keep)
      form.append('file', file, name)
      const request = open()
      request.open('POST', urlOf(base, to))
      request.withCredentials = true
      request.setRequestHeader(ACCOUNT_HEADER, account)
      request.upload.onprogress = ({ loaded }) => onProgress?.(Math.min(loaded, file.size))
      request.onload = () => resolve(request)
      request.onerror = () => reject(new ApiError(0, unreachable()))
      request.onabort = () => reject(new DOMException('aborted', 'AbortError'))
      if (signal?.aborted) {
        reject(new DOMException('aborted', 'AbortError'))
        return
      }
      signal?.addEventListener('abort', () => request.abort(), { once: true })
      request.send(form)
    })

  const upload: Upload = async options => {
    let request = await send(options)
    if (request.status === 401) {
      await signIn()
      request = await send(options)
    }
    const body = bodyOf(request)
    if (request.status >= 200 && request.status < 300) return body as Uploaded
    throw await toApiError(request, body, `POST /${options.to ?? 'api/upload'}`)
  }
  return upload
}
