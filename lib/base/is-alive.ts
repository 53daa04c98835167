/** Whether a process with this id runs. Zero and negative numbers address groups and are no id. */
export const isAlive = (pid: number): boolean => {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // ESRCH: no such process. EPERM: it runs and belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
