/** Converts file system errors to UserErrors. */
import { isObject } from '../base/json.ts'
import { sentence, type Words } from '../base/sentences.ts'
import { conflict, diskFull, forbidden, invalid, messageOf, missing, wordsOf } from '../errors.ts'

/** The error code (`ENOENT`, …); empty for an error without one. */
export const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

const REASONS: Readonly<Record<string, Words>> = {
  ENOENT: sentence('file.missing'),
  ENOTDIR: sentence('file.not_a_folder'),
  EEXIST: 'something else is in its place',
  EISDIR: sentence('file.is_folder'),
  EACCES: sentence('file.denied'),
  EPERM: sentence('file.denied'),
  ELOOP: sentence('file.loop'),
  ENXIO: 'it is a socket',
  EROFS: sentence('file.read_only'),
  ENOSPC: sentence('file.disk_full'),
  EDQUOT: sentence('file.quota'),
  SQLITE_FULL: sentence('file.disk_full'),
  EMFILE: 'too many files are open in this process',
  ENFILE: 'too many files are open on this machine',
  EIO: sentence('file.disk_error'),
  ESTALE: 'the network file system does not know it any more',
}

/** Why a file cannot be used, for a sentence that names the file itself; never the text of the system, which has codes and calls. */
export const fileReason = (error: unknown): Words => REASONS[errorCode(error)] ?? wordsOf(error)

/** For the end of a command: what the file system refuses is named with its path, and without codes and calls. */
export const sentenceOf = (error: unknown): string => {
  const reason = REASONS[errorCode(error)]
  const path = isObject(error) && 'path' in error ? error.path : undefined
  return reason !== undefined && typeof path === 'string'
    ? `${path} cannot be used: ${reason}`
    : messageOf(error)
}

/** A Refusal where the person can do something about it; every other error as it is. No sentence names a place. */
export const toUserError = (error: unknown): unknown => {
  switch (errorCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ELOOP':
    case 'ENXIO':
    case 'ENAMETOOLONG':
      return missing('File not found', { code: 'file_not_found' })
    case 'EACCES':
    case 'EPERM':
      return forbidden('Permission denied', { code: 'permission_denied' })
    case 'EEXIST':
    case 'ENOTEMPTY':
      return invalid('Path already exists', { code: 'file_exists' })
    case 'EISDIR':
      return invalid('Path is a directory', { code: 'is_folder' })
    case 'EINVAL':
    case 'EILSEQ':
      return invalid('Invalid file name', { code: 'invalid_file_name' })
    case 'EXDEV':
      return invalid('The folder is on another disk', { code: 'other_disk' })
    case 'EBUSY':
    case 'ETXTBSY':
      return conflict('The file is in use', { code: 'file_in_use' })
    case 'EROFS':
      return diskFull('The disk is read-only. Nothing was changed.')
    case 'ENOSPC':
    case 'EDQUOT':
      return diskFull('The disk is full. Nothing was changed.')
    default:
      return error
  }
}

/** Runs `work`; what the file system refuses becomes a sentence. */
export const withUserErrors = <T>(work: () => T): T => {
  try {
    return work()
  } catch (error) {
    throw toUserError(error)
  }
}

/** The same for work that takes its time. */
export const withUserErrorsAsync = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    throw toUserError(error)
  }
}
