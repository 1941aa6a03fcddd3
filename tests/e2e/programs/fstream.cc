// SPDX-License-Identifier: Apache-2.0
// C++ streams as programs use them: large and small writes, seeking, appending, reading back.
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	std::string name = argv[1];
	std::vector<char> block(300000);
	for (std::size_t i = 0; i < block.size(); i++)
		block[i] = static_cast<char>(i * 31 ^ i >> 9);
	{
		std::ofstream out(name, std::ios::binary);
		out.write(block.data(), static_cast<std::streamsize>(block.size()));
		for (int i = 0; i < 10000; i++)
			out << "line " << i << '\n';
		out.seekp(1000);
		out << "in the middle";
	}
	{
		std::ofstream out(name, std::ios::binary | std::ios::app);
		out << "the end" << std::endl;
	}
	std::fstream both(name, std::ios::binary | std::ios::in | std::ios::out);
	std::vector<char> back(block.size());
	both.read(back.data(), static_cast<std::streamsize>(back.size()));
	std::string line;
	unsigned lines = 0;
	while (std::getline(both, line))
		lines++;
	both.clear();
	both.seekg(1000);
	both.read(back.data(), 13);
	std::cout << lines << ' ' << line << ' ' << std::string(back.data(), 13) << '\n';
	both.seekp(5);
	both.put('!');
	both.close();
	return both.fail() ? 1 : 0;
}
