! SPDX-License-Identifier: Apache-2.0
! Fortran I/O as programs use it: sequential records, direct access, streams, formatted text.
program unformatted
  implicit none
  integer, parameter :: n = 50000
  real(8) :: a(n), b(n)
  integer :: i, status
  character(len=20) :: text

  do i = 1, n
    a(i) = sqrt(real(i, 8))
  end do
  open (10, file='sequential', form='unformatted', status='replace')
  do i = 1, 3
    write (10) a * i
  end do
  close (10)
  open (10, file='sequential', form='unformatted', status='old')
  do i = 1, 3
    read (10) b
    if (any(b /= a * i)) stop 1
  end do
  read (10, iostat=status) b
  if (status >= 0) stop 2
  close (10)

  open (11, file='direct', access='direct', form='unformatted', recl=8000, status='replace')
  do i = 50, 1, -1
    write (11, rec=i) a((i - 1) * 1000 + 1:i * 1000)
  end do
  read (11, rec=17) b(1:1000)
  if (any(b(1:1000) /= a(16001:17000))) stop 3
  close (11)

  open (12, file='stream', access='stream', form='unformatted', status='replace')
  write (12) a(1:1000), 'text'
  read (12, pos=801) b(1:10)
  if (any(b(1:10) /= a(101:110))) stop 4
  close (12)

  open (13, file='formatted', status='replace')
  do i = 1, 1000
    write (13, '(a,i6)') 'line ', i
  end do
  rewind (13)
  do i = 1, 500
    read (13, '(a)') text
  end do
  close (13)
  print '(a)', trim(text)
end program
