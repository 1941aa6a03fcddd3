/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI-IO in the ways in which it uses a file differently: each rank its own part, interleaved
 * parts with and without a collective buffer, and one file pointer for all.
 *
 *	mpirun -n 4 live-mpi DIR
 *
 * makes DIR/{contiguous,collective,sieved,ordered,shared} and reads each again, in another order
 * than it was written. All but `shared` have the same bytes in every run; the records of `shared`
 * come in any order, each whole, which is checked here.
 *
 *	collective   MPI_Type_vector, write_all: ranks exchange, some of them write
 *	sieved       the same view, each rank by itself, with holes: read, modify, write under a
 * lock
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PART	(700 * 1000) /* bytes of one rank; no power of two, and no multiple of a page */
#define BLOCK	1000	     /* of a vector */
#define RECORDS 40	     /* of one rank with the shared pointer */
#define RECORD	3001

static int rank, ranks;

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "live-mpi: rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

#define TRY(call) need((call) == MPI_SUCCESS, #call)

static unsigned char byte_of(int owner, int at)
{
	unsigned x = (unsigned)owner * 2654435761U + (unsigned)at * 40503U;

	return (unsigned char)(x >> 11 ^ x >> 3);
}

static unsigned char *part_of(int owner, int length)
{
	unsigned char *part = malloc((size_t)length);

	need(part != NULL, "memory");
	for (int i = 0; i < length; i++)
		part[i] = byte_of(owner, i);
	return part;
}

static MPI_File open_file(const char *dir, const char *name, int mode)
{
	char path[4096];
	MPI_File f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	TRY(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &f));
	return f;
}

/* Written by the rank itself, read by its neighbour. */
static void contiguous(const char *dir)
{
	int other = (rank + 1) % ranks;
	unsigned char *mine = part_of(rank, PART), *expected = part_of(other, PART);
	MPI_File f = open_file(dir, "contiguous", MPI_MODE_CREATE | MPI_MODE_RDWR);

	TRY(MPI_File_write_at_all(f, (MPI_Offset)rank * PART, mine, PART / 2, MPI_BYTE,
				  MPI_STATUS_IGNORE));
	TRY(MPI_File_write_at(f, (MPI_Offset)rank * PART + PART / 2, mine + PART / 2, PART / 2,
			      MPI_BYTE, MPI_STATUS_IGNORE));
	TRY(MPI_File_sync(f));
	MPI_Barrier(MPI_COMM_WORLD);
	TRY(MPI_File_sync(f));
	TRY(MPI_File_read_at(f, (MPI_Offset)other * PART, mine, PART, MPI_BYTE, MPI_STATUS_IGNORE));
	need(!memcmp(mine, expected, PART), "contiguous: what was read is not what was written");
	TRY(MPI_File_close(&f));
	free(mine);
	free(expected);
}

/*
 * The file is a row of blocks, one for each rank in turn; with every = 2 such a round is followed
 * by a hole of the same size.
 */
static void strided(const char *dir, const char *name, int collective, int every)
{
	int stride = BLOCK * ranks * every;
	unsigned char *mine = part_of(rank, PART), *again = calloc(1, PART);
	MPI_File f = open_file(dir, name, MPI_MODE_CREATE | MPI_MODE_RDWR);
	MPI_Datatype vector;

	/* What sieving reads behind the end of a file, and then writes into holes, is anything. */
	TRY(MPI_File_set_size(f, (MPI_Offset)stride * (PART / BLOCK)));
	TRY(MPI_Type_vector(PART / BLOCK, BLOCK, stride, MPI_BYTE, &vector));
	TRY(MPI_Type_commit(&vector));
	TRY(MPI_File_set_view(f, (MPI_Offset)rank * BLOCK, MPI_BYTE, vector, "native",
			      MPI_INFO_NULL));
	if (collective)
		TRY(MPI_File_write_all(f, mine, PART, MPI_BYTE, MPI_STATUS_IGNORE));
	else
		TRY(MPI_File_write(f, mine, PART, MPI_BYTE, MPI_STATUS_IGNORE));
	TRY(MPI_File_sync(f));
	MPI_Barrier(MPI_COMM_WORLD);
	TRY(MPI_File_sync(f));
	TRY(MPI_File_seek(f, 0, MPI_SEEK_SET));
	if (collective)
		TRY(MPI_File_read_all(f, again, PART, MPI_BYTE, MPI_STATUS_IGNORE));
	else
		TRY(MPI_File_read(f, again, PART, MPI_BYTE, MPI_STATUS_IGNORE));
	need(!memcmp(mine, again, PART), name);
	TRY(MPI_File_close(&f));
	TRY(MPI_Type_free(&vector));
	free(mine);
	free(again);
}

static void ordered(const char *dir)
{
	unsigned char *mine = part_of(rank, PART);
	MPI_File f = open_file(dir, "ordered", MPI_MODE_CREATE | MPI_MODE_RDWR);

	for (int i = 0; i < 4; i++)
		TRY(MPI_File_write_ordered(f, mine + i * (PART / 4), PART / 4, MPI_BYTE,
					   MPI_STATUS_IGNORE));
	TRY(MPI_File_close(&f));
	free(mine);
}

static void check_records(const char *dir)
{
	MPI_File f = open_file(dir, "shared", MPI_MODE_RDONLY);
	int *seen = calloc((size_t)ranks * RECORDS, sizeof(int));
	unsigned char record[RECORD];
	MPI_Offset size;

	TRY(MPI_File_get_size(f, &size));
	need(size == (MPI_Offset)ranks * RECORDS * RECORD, "shared: the file has another length");
	for (int i = 0; i < ranks * RECORDS; i++) {
		int id;

		TRY(MPI_File_read_at(f, (MPI_Offset)i * RECORD, record, RECORD, MPI_BYTE,
				     MPI_STATUS_IGNORE));
		memcpy(&id, record, sizeof(id));
		need(id >= 0 && id < ranks * RECORDS && !seen[id],
		     "shared: a record twice, or none");
		seen[id] = 1;
		for (int k = (int)sizeof(id); k < RECORD; k++)
			need(record[k] == byte_of(id, k), "shared: a record is not whole");
	}
	TRY(MPI_File_close(&f));
	free(seen);
}

static void shared(const char *dir)
{
	MPI_File f = open_file(dir, "shared", MPI_MODE_CREATE | MPI_MODE_WRONLY);
	unsigned char record[RECORD];

	for (int i = 0; i < RECORDS; i++) {
		int id = rank * RECORDS + i;

		for (int k = 0; k < RECORD; k++)
			record[k] = byte_of(id, k);
		memcpy(record, &id, sizeof(id));
		TRY(MPI_File_write_shared(f, record, RECORD, MPI_BYTE, MPI_STATUS_IGNORE));
	}
	TRY(MPI_File_close(&f));
	check_records(dir);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	need(argc == 2, "usage: live-mpi DIR");
	contiguous(argv[1]);
	strided(argv[1], "collective", 1, 1);
	strided(argv[1], "sieved", 0, 2);
	ordered(argv[1]);
	shared(argv[1]);
	MPI_Finalize();
	return 0;
}
