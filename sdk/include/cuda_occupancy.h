// NVIDIA's calculator of occupancy for other devices than the present one is not here; cub and thrust include the file
// and use nothing of it. cudaOccupancyMaxActiveBlocksPerMultiprocessor asks the node.
#pragma once
